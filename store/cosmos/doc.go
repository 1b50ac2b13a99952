// Package cosmos keeps leases in Azure Cosmos DB (API for NoSQL): one document
// per resource, in one container.
//
// A grant of a new resource is a create (409: somebody was faster), everything
// else a replace under the document's ETag (412: lost the race); the rest is
// package cas. Time is the Date header of Cosmos' own answers, which counts whole
// seconds: a lease is taken over only when Date is more than a second past its
// end. No client's clock decides anything.
//
// A release marks the document and does not delete it, so that tokens grow; the
// service deletes it when its own ttl has passed, 2 × the lease's duration and a
// day after the last write. A token is max(last + 1, the service's microseconds).
//
// The container must not be in an account with several write regions: two of
// them accept two creates of the same document, and one is thrown away later.
// Open refuses such an account; New cannot see it.
//
// What a call costs: an acquire is one read and one write, a renewal and a
// release as well, without the read within half a second of the last write; an
// acquire with a proposed id also has one query over all partitions, as have calls
// that show only an id which this store has not written. List and Cleanup read
// every document. docs/stores/cosmos.md says more.
package cosmos
