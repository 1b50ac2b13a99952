// Package sweeper paces the sweep of a networked store: it looks when the next lease
// ends that this process knows of, and now and then for those of a process that died.
package sweeper

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// MaxPause is how long the sweep sleeps at most. Leases that this process granted or
// renewed wake it in time; this is for those of a process that died.
const MaxPause = 30 * time.Second

// Sweeper says when to look.
type Sweeper struct {
	wake chan struct{} // of one: an end is nearer than planned

	mu   sync.Mutex
	next time.Time // when Run looks again
}

// New returns a Sweeper that looks after MaxPause. A lease may be granted before Run
// starts.
func New() *Sweeper {
	return &Sweeper{wake: make(chan struct{}, 1), next: time.Now().Add(MaxPause)}
}

// EndsIn says that a lease ends after d, or never.
func (w *Sweeper) EndsIn(d time.Duration) {
	if d == leasehold.Infinite {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := time.Now().Add(d + time.Millisecond); at.Before(w.next) {
		w.next = at
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// Run calls sweep until ctx ends, with how long ago it tidied. Sweep records what is
// due, tidies if it is time, and says when it wants to look again at the latest. After
// an error it is called again after MaxPause, or at the next end.
func (w *Sweeper) Run(ctx context.Context, sweep func(ctx context.Context, ago time.Duration) (next time.Duration, tidied bool, err error)) {
	tidied := time.Now()
	for {
		timer := time.NewTimer(max(time.Millisecond, w.pause()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-w.wake:
			timer.Stop()
			continue
		case <-timer.C:
		}
		w.plan(MaxPause) // ends that come while it looks may be nearer
		next, done, err := sweep(ctx, time.Since(tidied))
		if err != nil {
			continue
		}
		if done {
			tidied = time.Now()
		}
		w.EndsIn(next)
	}
}

func (w *Sweeper) plan(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = time.Now().Add(d)
}

func (w *Sweeper) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.next)
}
