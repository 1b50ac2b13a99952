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
// its own errors.
//
// A context ends a read, and lets the caller of anything else go: what was sent
// runs on to the client's own timeout, and the caller is told ErrUnknown. What
// was not sent yet never will be, and is ErrUnavailable. No lease is left to
// nobody: a grant that comes for a caller that has left and had proposed no id is
// released, with the reason "abandoned", and a wait is not just cut off but
// ended at the server. An id that the caller proposed is never released here.
package remote
