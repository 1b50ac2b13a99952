// Package remote is the store at the other end of a wire: a client of the JSON
// API of a Leasehold server that is itself a leasehold.Store with every power.
// What the server's store would say, it says too: the same leases, the same
// errors, the same waits, history, settings and events.
//
// What the wire adds is doubt. A request that surely never left is
// ErrUnavailable. One that may have arrived and whose answer did not come back
// is ErrUnknown if it would have changed something: ask again with the same
// lease id. The Manager does.
//
// Acquires, renewals and releases that many callers make at the same time
// travel together, as one batch; a lone call does not wait for company. To its
// caller each is a call of its own: it has its own answer, its own context and
// its own errors. A context that ends before its call was sent is
// ErrUnavailable, and nothing happened.
//
// It speaks HTTP/1.1 over connections of its own, because the usual client
// cannot say the one thing a waiter must be able to say: "I leave; tell me
// whether you have granted it already". A client of the caller's choice (for
// proxies, say) works too, see Options.HTTPClient.
package remote
