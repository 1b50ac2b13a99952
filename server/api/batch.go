package api

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// maxBatch is the limit of a batch's body, in bodies of the largest size. It
// holds as many operations as there may be, each with the longest names and
// the most metadata, and not escaped to the utmost.
const maxBatch = 64

// maxHelpers limits the operations that run beside others, in all batches.
const maxHelpers = 10_000

// batchAction is many calls in one request. They run at the same time, so that
// the store's group commit takes them together, each as if it had come by
// itself: it may be refused, counted or logged like any other, and none hurts
// another.
func (s *Server) batchAction() action {
	a := bodied[wire.BatchRequest, wire.BatchAnswer](s.batch)
	a.most = maxBatch * s.o.MaxBody
	return a
}

// batch serves POST /v1/leases/batch. What is wrong with the batch itself
// refuses all of it before anything is done.
func (s *Server) batch(c *call, body []byte) (any, error) {
	operations, err := s.readBatch(body)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(c.r.Context(), s.o.StoreTimeout, errLimit)
	defer cancel()
	calls := make([]call, len(operations))
	var running sync.WaitGroup
	for i, o := range operations {
		calls[i] = call{s: s, r: c.r, caller: c.caller, id: c.id, began: c.began,
			endpoint: o.endpoint, status: o.endpoint.Status, batched: true, limited: ctx}
		if i > 0 && !calls[i].spend() { // the first one was counted at the door
			continue
		}
		if i == len(operations)-1 {
			calls[i].operate(o.body)
		} else {
			s.aside(&running, func() { calls[i].operate(o.body) })
		}
	}
	running.Wait()
	c.undelivered = func() { undeliver(calls) }
	return answers(calls), nil
}

// aside runs the operation beside the others or, where too many do so already,
// at once: a store that hangs must not fill the memory.
func (s *Server) aside(running *sync.WaitGroup, operate func()) {
	if s.helpers.Add(1) > maxHelpers {
		s.helpers.Add(-1)
		operate()
		return
	}
	running.Go(func() {
		defer s.helpers.Add(-1)
		makeRoom(false)
		operate()
	})
}

// makeRoom grows the stack of a new goroutine once, while nothing is on it, to
// what an operation needs: its frame has room, which it need not use. Growing
// step by step, each time with more to copy, took a tenth of a batch's time.
//
//go:noinline
func makeRoom(use bool) {
	if use {
		var room [12 << 10]byte
		touch(&room)
	}
}

//go:noinline
func touch(room *[12 << 10]byte) { room[0] = 1 }

// spend counts the operation against the caller's rate and refuses it if that
// is used up.
func (c *call) spend() bool {
	wait, ok := c.s.o.Spend(c.r.Context())
	if !ok {
		defer c.finish()
		c.refuse(&leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: c.endpoint.ID, RetryAfter: max(wait, time.Millisecond)})
	}
	return ok
}

// operate runs one operation.
func (c *call) operate(body []byte) {
	defer c.finish()
	if !c.endpoint.allows(c.caller) {
		c.refuse(&leasehold.Error{Reason: leasehold.ReasonForbidden, Op: c.endpoint.ID})
		return
	}
	c.respond(c.endpoint.handle(c, body))
}

// answers puts the answers together. They are JSON already.
func answers(calls []call) encoded {
	size := 32
	for i := range calls {
		size += len(calls[i].body) + len(`{"status":200,"body":},`)
	}
	b := append(make([]byte, 0, size), `{"answers":[`...)
	for i := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"status":`...)
		b = strconv.AppendInt(b, int64(calls[i].status), 10)
		b = append(b, `,"body":`...)
		b = append(b, calls[i].body...)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// undeliver undoes what makes no sense without the answer.
func undeliver(calls []call) {
	var running sync.WaitGroup
	for i := range calls {
		if undo := calls[i].undelivered; undo != nil {
			running.Go(undo)
		}
	}
	running.Wait()
}
