package remote

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// effect is what a call may do to the store. It decides what a missing answer
// means.
type effect uint8

const (
	reads effect = iota
	writes
	waits
)

// call is one call of the API. It is sent once, as a request of its own or as
// one operation of a batch.
type call struct {
	op       string // its name in errors and in a batch
	resource string // for errors
	effect   effect
	batch    bool   // may be sent in a batch
	method   string // default POST
	target   string // path and query, escaped, without the server's prefix
	after    uint64 // Last-Event-ID; zero: none
	body     any    // default an empty object; a GET has none
	json     []byte // the body, encoded

	trace traceContext // as an operation of a batch

	// unclaimed receives an answer that comes after the caller has left. It may
	// be nil, and may make calls of its own.
	unclaimed func(reply)

	progress atomic.Int32
}

// How far a call has come.
const (
	unsent    int32 = iota
	sent            // some of it may have arrived
	withdrawn       // nothing of it will ever arrive
)

// restart notes that nothing has arrived of what was sent until now.
func (c *call) restart() { c.progress.CompareAndSwap(sent, unsent) }

// maySend reports whether the call may be sent, and notes that it is.
func (c *call) maySend() bool {
	return c.progress.CompareAndSwap(unsent, sent) || c.progress.Load() == sent
}

// withdraw keeps an unsent call from being sent, and reports whether it was.
func (c *call) withdraw() bool { return c.progress.CompareAndSwap(unsent, withdrawn) }

var emptyObject = []byte("{}")

func (c *call) encode() (err error) {
	switch {
	case c.method == "":
		c.method = http.MethodPost
	case c.method == http.MethodGet:
		return nil
	}
	if c.body == nil {
		c.json = emptyObject
		return nil
	}
	if c.json, err = wire.Append(make([]byte, 0, 192), c.body); err != nil {
		return localError(c.op, c.resource, leasehold.Invalid("value", "cannot be written as JSON"))
	}
	return nil
}

// send makes the call and decodes the answer into out.
func (s *Store) send(ctx context.Context, c *call, out any) error {
	if err := c.encode(); err != nil {
		return err
	}
	var r reply
	var err error
	switch {
	case c.batch:
		r, err = s.batcher.send(ctx, c)
	case c.effect == reads:
		until, cancel := with(ctx, s.open)
		r, err = s.transport.exchange(until, c)
		cancel()
	default:
		r, err = s.sendAlone(ctx, c, func() {})
	}
	if err != nil {
		return s.failure(ctx, c, err)
	}
	return s.decode(ctx, c, r, out)
}

// decode decodes an answer, or returns the error that it is.
func (s *Store) decode(ctx context.Context, c *call, r reply, out any) error {
	if r.status/100 != 2 {
		return s.refusal(c, r)
	}
	if err := wire.Decode(r.body, out); err != nil {
		return s.failure(ctx, c, errNonsense)
	}
	return nil
}

var errNonsense = errors.New("the answer is not what a Leasehold server says; is it one?")
