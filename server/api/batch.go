package api

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// maxBatch is the limit of a batch's body, in bodies of the largest size. It
// holds as many operations as there may be, each with the longest names and
// the most metadata, though not with every character escaped.
const maxBatch = 64

// maxParallel limits the goroutines of operations, in all batches.
const maxParallel = 10_000

// batch serves POST /v1/leases/batch: many calls in one request. They run at the
// same time, so that the store commits them together, each as if it had come by
// itself: it may be refused, is counted and logged like any other, and does not
// affect the others. What is wrong with the batch itself refuses all of it before
// anything is done.
func batch(c *call, _ string, body []byte) (any, error) {
	s := c.s
	operations, err := decodeBatch(body, s.batchable)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(c.ctx, s.o.StoreTimeout, errLimit)
	defer cancel()
	calls := make([]call, len(operations))
	var running sync.WaitGroup
	for i, o := range operations {
		calls[i] = call{operation: o, s: s, r: c.r, caller: c.caller, requestID: c.requestID, started: c.started,
			batched: true, ctx: ctx} // with the time limit that they share
		calls[i].observeStart(o.trace.bounded())
		if i > 0 && !allowOperation(&calls[i]) { // the guard has counted the first
			continue
		}
		if i == len(operations)-1 {
			runOperation(&calls[i])
		} else {
			startOperation(&calls[i], &running)
		}
	}
	running.Wait()
	c.undelivered = func() { undoAll(calls) }
	return joinAnswers(calls), nil
}

// allowOperation counts the operation against the caller's rate, and refuses it
// if that is used up.
func allowOperation(c *call) bool {
	wait, ok := c.s.o.AllowOperation(c.r.Context())
	if !ok {
		defer c.finish()
		c.writeProblem(&leasehold.Error{Reason: leasehold.ReasonRateLimited, Op: c.endpoint.ID, RetryAfter: max(wait, time.Millisecond)})
	}
	return ok
}

func runOperation(c *call) {
	defer c.finish()
	c.respond(c.run())
}

// startOperation runs the operation in a goroutine or, where there are too many
// already, at once: a store that hangs must not fill the memory.
func startOperation(c *call, running *sync.WaitGroup) {
	if c.s.parallel.Add(1) > maxParallel {
		c.s.parallel.Add(-1)
		runOperation(c)
		return
	}
	running.Go(func() {
		defer c.s.parallel.Add(-1)
		growStack(false)
		runOperation(c)
	})
}

// growStack grows the stack of a new goroutine once, while nothing is on it, to
// what an operation needs: its frame has the size, which it need not use. Growing
// step by step, each time with more to copy, took a tenth of a batch's time.
//
//go:noinline
func growStack(use bool) {
	if use {
		var frame [12 << 10]byte
		touch(&frame)
	}
}

//go:noinline
func touch(frame *[12 << 10]byte) { frame[0] = 1 }

// joinAnswers puts the answers together. They are JSON already.
func joinAnswers(calls []call) encoded {
	size := 32
	for i := range calls {
		size += len(calls[i].answer) + len(`{"status":200,"body":},`)
	}
	b := append(make([]byte, 0, size), `{"answers":[`...)
	for i := range calls {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"status":`...)
		b = strconv.AppendInt(b, int64(calls[i].status), 10)
		b = append(b, `,"body":`...)
		b = append(b, calls[i].answer...)
		b = append(b, '}')
	}
	return append(b, `]}`...)
}

// undoAll undoes what makes no sense without the answer.
func undoAll(calls []call) {
	var running sync.WaitGroup
	for i := range calls {
		if undo := calls[i].undelivered; undo != nil {
			running.Go(undo)
		}
	}
	running.Wait()
}
