// Package azblob keeps leases as the leases of Azure Blob Storage, one blob for
// each resource.
//
// # How a lease is kept
//
// A resource is a blob in one container ("leases"), named by a prefix ("lease-")
// and the resource's name in an encoding that keeps the order of bytes. The
// service's own lease on that blob is the lease; whether it is live is only for
// the service to say. The blob's metadata says whose it is: name, holder, token,
// ttl and times, and the caller's own pairs as m_KEY.
//
// A grant is two conditional calls. The first writes the metadata, with the next
// token, if the blob is as it was read (If-Match) and nobody has a lease on it.
// The second acquires the service's lease if the metadata is still that
// (If-Match): this is the grant. Whoever comes between makes it fail. So a blob
// under a lease always shows the metadata of just this lease, there is no
// half-made grant to clean up after a crash, and no two grants have the same
// token: a grant needs a metadata write of its own, and each write has a token
// above the one it replaces. The write also ends for good what the service would
// let its owner revive: an expired lease whose blob has not changed. Tokens follow the
// service's clock, so that they also grow where a blob was deleted.
//
// # Time
//
// The service does not say when a lease ends, so Remaining is computed from the
// service's own times, which are whole seconds: it is too small by up to two
// seconds, never too large. The service would revive an expired lease by a late
// renewal, so a renewal compares the time of the answer with the end known before,
// and where the lease may have ended first it releases it and answers that it has
// expired. A lease must therefore be renewed before its last two seconds.
//
// # Limits
//
// A ttl is 15 to 60 seconds or Infinite; the service counts whole seconds, so a
// fraction is rounded up there. A name has at most MaxResource bytes. Ends are not
// remembered; there is no history, no watching, no settings, no force-release, no
// transfer, no limit of renewals and no finding by id. A lease is on one resource:
// claims and notes are refused as ErrUnsupported before any call, and
// AcquireRequest.Sequence is ignored.
package azblob
