// Package turns limits long work to a share of the processors, so that short
// requests need not wait for it: the work is done in short steps, a few at a
// time, with pauses in between.
package turns

import (
	"context"
	"runtime"
	"sync"
	"time"
)

// burst is how much of the share may be used at once after a quiet time.
const burst = 20 * time.Millisecond

// Turns is shared by all work of one kind.
type Turns struct {
	free    chan struct{} // one element for each turn that may start
	speed   float64       // seconds of turns in a second
	longest time.Duration

	mu       sync.Mutex
	usedUpTo time.Time // when the share makes up for all turns so far
}

// New returns turns that together take this share of all processors. A turn that
// lasts longer than longest is blocked on something else: it ends for the others
// and counts as that long. Zero: turns never block.
func New(share float64, longest time.Duration) *Turns {
	n := runtime.GOMAXPROCS(0)
	t := &Turns{free: make(chan struct{}, max(1, n/4)), speed: share * float64(n), longest: longest}
	for range cap(t.free) {
		t.free <- struct{}{}
	}
	return t
}

// Do waits for a turn, first come, first served, and runs the step. It returns
// the context's cause if that ends before.
func (t *Turns) Do(ctx context.Context, step func() error) error {
	select {
	case <-t.free:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	started := time.Now()
	done := func() { t.done(time.Since(started)) }
	if t.longest > 0 {
		once := sync.OnceFunc(done)
		defer time.AfterFunc(t.longest, once).Stop()
		done = once
	}
	defer done()
	return step()
}

// done frees the turn, after a pause if the share is used up.
func (t *Turns) done(took time.Duration) {
	if t.longest > 0 {
		took = min(took, t.longest)
	}
	if pause := t.use(took); pause > 0 {
		time.AfterFunc(pause, func() { t.free <- struct{}{} })
	} else {
		t.free <- struct{}{}
	}
}

// use counts a turn, and returns how long to pause after it.
func (t *Turns) use(took time.Duration) time.Duration {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if earliest := now.Add(-burst); t.usedUpTo.Before(earliest) {
		t.usedUpTo = earliest
	}
	t.usedUpTo = t.usedUpTo.Add(time.Duration(float64(took) / t.speed))
	return t.usedUpTo.Sub(now)
}
