// Package turns gives work that may take long, and that nobody must wait for, a
// bounded share of the processors: it is done in short steps, a few of them at a
// time, with rests in between.
package turns

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// burst is how much of the share may be used at once after a quiet time.
const burst = 20 * time.Millisecond

// Turns is shared by everybody who does the same kind of work.
type Turns struct {
	free    chan struct{} // has as many as may be taken
	speed   float64       // how many seconds of turns there are in a second
	longest time.Duration

	mu   sync.Mutex
	paid time.Time // when all turns so far are paid for
}

// New returns turns that together take this share of all processors. A turn
// that lasts longer than longest is one that waits for somebody: it does not
// hold up the others and is counted as that long. Zero: turns never wait.
func New(share float64, longest time.Duration) *Turns {
	n := runtime.GOMAXPROCS(0)
	t := &Turns{free: make(chan struct{}, max(1, n/4)), speed: share * float64(n), longest: longest}
	for range cap(t.free) {
		t.free <- struct{}{}
	}
	return t
}

// Do waits for a turn, first come, first served, and does the step. It returns
// the context's cause if that ends before.
func (t *Turns) Do(ctx context.Context, step func() error) error {
	select {
	case <-t.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	began := time.Now()
	done := func() { t.done(time.Since(began)) }
	if t.longest > 0 {
		once := sync.OnceFunc(done)
		defer time.AfterFunc(t.longest, once).Stop()
		done = once
	}
	defer done()
	return step()
}

// done lets the next one have its turn, as soon as this one is paid for.
func (t *Turns) done(took time.Duration) {
	if t.longest > 0 {
		took = min(took, t.longest)
	}
	if rest := t.pay(took); rest > 0 {
		time.AfterFunc(rest, func() { t.free <- struct{}{} })
	} else {
		t.free <- struct{}{}
	}
}

// pay returns how long to rest after a turn.
func (t *Turns) pay(took time.Duration) time.Duration {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if earliest := now.Add(-burst); t.paid.Before(earliest) {
		t.paid = earliest
	}
	t.paid = t.paid.Add(time.Duration(float64(took) / t.speed))
	return t.paid.Sub(now)
}
