package remote

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

const (
	// seats is how many requests may be under way before calls are collected.
	// More make smaller batches, which cost more and are back no sooner.
	seats = 1

	// maxHold is how long a call waits for company at the most, however long
	// the requests under way take. One that hangs must not hold up the others.
	maxHold = 5 * time.Millisecond
)

// batcher lets calls travel together which come at the same time: what group
// commit is to a disk, on the way there. A call sets off by itself if none is
// under way. Otherwise calls are collected, and all that have come set off as
// one batch when the request under way is back.
//
// A call that waits here has not been sent: its caller may leave, and nothing
// has happened. Once its batch has set off, nobody's leaving ends it.
type batcher struct {
	store  *Store
	always bool // even a single call travels as a batch, for tests

	mu    sync.Mutex
	busy  int          // requests under way: seats that are taken
	crowd bool         // the last to set off was a batch: its callers will be back
	queue []*passenger // those who wait
	hold  *time.Timer
	never bool // the server knows no batches
	ended bool
}

// send makes a call, alone or in a batch.
func (b *batcher) send(ctx context.Context, q *request, late func(reply)) (reply, error) {
	p, o := b.enter(ctx, q, late)
	if p != nil {
		o = b.await(ctx, p)
	}
	switch {
	case !o.alone:
		return o.reply, o.err
	case o.seat:
		return b.store.change(ctx, q, late, b.leaveSeat)
	}
	return b.store.change(ctx, q, late, func() {})
}

// enter decides about a call that comes, or lets it wait.
func (b *batcher) enter(ctx context.Context, q *request, late func(reply)) (*passenger, outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case ctx.Err() != nil, b.ended, b.never:
		return nil, outcome{alone: true} // where the first two are refused
	case b.busy < seats && len(b.queue) == 0 && !b.crowd && !b.always:
		b.busy++
		return nil, outcome{alone: true, seat: true}
	}
	p := &passenger{request: q, late: late, fate: make(chan outcome, 1)}
	b.queue = append(b.queue, p)
	if len(b.queue) == 1 {
		b.holdOn()
	}
	b.depart()
	return p, outcome{}
}

// await returns what became of the passenger, which leaves if its context ends.
func (b *batcher) await(ctx context.Context, p *passenger) outcome {
	select {
	case o := <-p.fate:
		return o
	case <-ctx.Done():
	}
	cause := context.Cause(ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case p.told:
		return <-p.fate
	case p.boarded:
		p.left = true
		return outcome{result: result{err: cause}}
	}
	b.queue = slices.DeleteFunc(b.queue, func(other *passenger) bool { return other == p })
	return outcome{result: result{err: &notSent{cause}}}
}

// holdOn limits how long those who wait do so. The lock is held.
func (b *batcher) holdOn() {
	if b.hold != nil {
		b.hold.Reset(maxHold)
		return
	}
	b.hold = time.AfterFunc(maxHold, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.queue) > 0 && !b.ended {
			b.setOff()
		}
	})
}

// depart sends a batch on its way, if somebody waits and there is room. The
// lock is held.
func (b *batcher) depart() {
	if len(b.queue) > 0 && b.busy < seats && !b.ended {
		b.setOff()
	}
}

func (b *batcher) setOff() {
	b.busy++
	b.store.running.Go(b.carry)
}

func (b *batcher) leaveSeat() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy--
	b.depart()
}

// carry takes a batch there and brings its answers back.
func (b *batcher) carry() {
	b.gather()
	t := b.board()
	if t == nil {
		return
	}
	r, err := b.store.transport.exchange(b.store.life, t.request())
	outcomes, unknown := t.outcomes(r, err)
	b.arrive(t, outcomes, unknown)
	b.leaveSeat()
}

// gather lets those join whom the last answer has set free: it steps aside as
// long as that makes the batch grow. Without it batches of everybody and
// batches of one take turns.
func (b *batcher) gather() {
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

// board takes as many from the queue as one batch may hold. If there is only
// one it is told to travel alone, in the seat of the batch.
func (b *batcher) board() trip {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := fitting(b.queue)
	boarding := b.queue[:n:n]
	if b.queue = b.queue[n:]; len(b.queue) > 0 {
		b.holdOn()
	}
	switch {
	case n == 0: // they have left
		b.busy--
		return nil
	case n == 1 && !b.always:
		b.crowd = false
		boarding[0].tell(outcome{alone: true, seat: true})
		return nil
	}
	b.crowd = true
	for _, p := range boarding {
		p.boarded = true
	}
	return boarding
}

// arrive tells the passengers what became of them. What comes for those who
// have left is given to their late, which may make calls of its own. If batches
// are unknown to the server, this was the last one.
func (b *batcher) arrive(t trip, outcomes []outcome, unknown bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if unknown {
		b.never = true
		for _, p := range b.queue {
			p.tell(outcome{alone: true})
		}
		b.queue = nil
	}
	for i, p := range t {
		switch o := outcomes[i]; {
		case !p.left:
			p.tell(o)
		case p.late != nil && !o.alone && o.err == nil:
			b.store.running.Go(func() { p.late(o.reply) })
		}
	}
}

// close lets nobody set off any more.
func (b *batcher) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	for _, p := range b.queue {
		p.tell(outcome{result: result{err: &notSent{errClosed}}})
	}
	b.queue = nil
}
