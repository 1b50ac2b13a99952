package remote

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// maxRequests is how many requests may be under way before calls are
	// collected. More make smaller batches, which cost more and are no faster.
	maxRequests = 1

	// maxDelay is the longest that a call waits for others, however long the
	// requests under way take: one that hangs must not delay the others.
	maxDelay = 5 * time.Millisecond
)

// batcher sends calls that come at the same time as one request: group commit
// for the network. A call is sent at once if no request is under way. Otherwise
// it waits, and all that wait are sent as one batch when the request is answered.
//
// A call that waits has not been sent: if its caller leaves, nothing has happened.
// Once its batch is sent, it goes on without the caller.
type batcher struct {
	store  *Store
	always bool // a single call is a batch, too; for tests

	mu        sync.Mutex
	requests  int            // under way
	lastBatch bool           // the last request was a batch: its callers will be back
	queue     []*pendingCall // not sent yet
	delay     *time.Timer
	never     bool // the server knows no batches
	untraced  bool // the server knows no trace contexts of operations
	closed    bool
}

// pendingCall is a call in the queue or in a batch under way.
type pendingCall struct {
	*call
	result   chan result // buffered
	resolved bool        // result has been sent
	sent     bool        // in a batch
	left     bool        // the caller has left since
}

// resolve returns the result to the caller.
func (p *pendingCall) resolve(r result) {
	p.resolved = true
	p.result <- r
}

// send makes a call, alone or in a batch.
func (b *batcher) send(ctx context.Context, c *call) (reply, error) {
	p, r := b.enqueue(ctx, c)
	if p != nil {
		r = b.wait(ctx, p)
	}
	switch {
	case !r.alone:
		return r.reply, r.err
	case r.counted:
		return b.store.sendAlone(ctx, c, b.requestEnded)
	}
	return b.store.sendAlone(ctx, c, func() {})
}

// enqueue queues the call, unless it is to be sent alone.
func (b *batcher) enqueue(ctx context.Context, c *call) (*pendingCall, result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil, b.closed, b.never:
		return nil, result{alone: true} // sendAlone refuses the first two
	case b.requests < maxRequests && len(b.queue) == 0 && !b.lastBatch && !b.always:
		b.requests++
		return nil, result{alone: true, counted: true}
	}
	if !b.untraced {
		c.trace = b.store.o.traceContext(ctx)
	}
	p := &pendingCall{call: c, result: make(chan result, 1)}
	b.queue = append(b.queue, p)
	if len(b.queue) == 1 {
		b.limitDelay()
	}
	if b.requests < maxRequests {
		b.startBatch()
	}
	return p, result{}
}

// wait returns the result of the call, or gives it up when its context ends.
func (b *batcher) wait(ctx context.Context, p *pendingCall) result {
	select {
	case r := <-p.result:
		return r
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.resolved:
		return <-p.result
	case p.sent:
		p.left = true
		return result{err: cause}
	}
	b.queue = slices.DeleteFunc(b.queue, func(other *pendingCall) bool { return other == p })
	return result{err: &notSent{cause}}
}

// limitDelay limits how long the queue waits for a request under way. The lock
// is held.
func (b *batcher) limitDelay() {
	if b.delay != nil {
		b.delay.Reset(maxDelay)
		return
	}
	b.delay = time.AfterFunc(maxDelay, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.startBatch()
	})
}

// startBatch sends a batch if calls wait. The lock is held.
func (b *batcher) startBatch() {
	if len(b.queue) > 0 && !b.closed {
		b.requests++
		b.store.running.Go(b.sendBatch)
	}
}

func (b *batcher) requestEnded() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.requests--; b.requests < maxRequests {
		b.startBatch()
	}
}

// sendBatch sends a batch and returns its results.
func (b *batcher) sendBatch() {
	b.collect()
	calls := b.dequeue()
	if calls == nil {
		return
	}
	r, err := b.store.transport.exchange(b.store.life, calls.call())
	b.resolve(calls, calls.answer(r, err))
	b.requestEnded()
}

// collect waits for callers that the last answer has woken: it yields as long as
// that makes the queue grow. Without it, batches of all callers alternate with
// batches of one.
func (b *batcher) collect() {
	for before := 0; ; {
		b.mu.Lock()
		n := len(b.queue)
		b.mu.Unlock()
		if n <= before {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// dequeue returns as many calls as one batch may have. A single one is sent
// alone by its caller instead, as the request that this batch was counted as.
func (b *batcher) dequeue() batch {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := fitting(b.queue)
	calls := b.queue[:n:n]
	if b.queue = b.queue[n:]; len(b.queue) > 0 {
		b.limitDelay()
	}
	switch {
	case n == 0: // all callers have left
		b.requests--
		return nil
	case n == 1 && !b.always:
		b.lastBatch = false
		calls[0].resolve(result{alone: true, counted: true})
		return nil
	}
	b.lastBatch = true
	for _, p := range calls {
		p.sent = true
	}
	return calls
}

// resolve returns the results of a batch to the callers, or to unclaimed where
// the caller has left. If the server knows no batches, this was the last one.
func (b *batcher) resolve(calls batch, answer batchAnswer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.untraced = b.untraced || answer.untraced
	if answer.unknown {
		b.never = true
		for _, p := range b.queue {
			p.resolve(result{alone: true})
		}
		b.queue = nil
	}
	for i, p := range calls {
		switch r := answer.ofCall(i); {
		case !p.left:
			p.resolve(r)
		case p.unclaimed != nil && !r.alone && r.err == nil:
			b.store.running.Go(func() { p.unclaimed(r.reply) })
		}
	}
}

// close refuses the calls that wait, and all that follow.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, p := range b.queue {
		p.resolve(result{err: &notSent{errClosed}})
	}
	b.queue = nil
}
