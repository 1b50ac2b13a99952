// Package remote is a client of the JSON API of a Leasehold server. It is itself a
// leasehold.Store with every power, and answers like the server's store: the same
// leases, errors, waits, history, settings and events.
//
// The network adds doubt. A call that surely was not sent is ErrUnavailable. One
// that may have arrived, and whose answer did not come back, is ErrUnknown if it
// changes something: repeat it with the same lease id. The Manager does.
//
// Acquires, renewals and releases that many callers make at the same time are sent
// as one batch; a lone call does not wait for others. To its caller each is a call
// of its own, with its own answer, context and errors.
//
// A context ends a read. The caller of anything else only stops waiting: what was
// sent goes on until the client's own timeout, and the caller gets ErrUnknown. What
// was not sent yet never will be, and is ErrUnavailable. No lease is left without
// an owner: a grant that comes after its caller has left, and whose id the caller
// did not propose, is released with the reason "abandoned"; a wait is ended at the
// server. An id that the caller proposed is never released here.
//
// A call goes through call.go (encode, send, decode), batcher.go (alone or in a
// batch), async.go (goes on without its caller) and transport.go (HTTP).
package remote
