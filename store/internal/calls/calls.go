// Package calls knows the calls of a store that are under way, and its work in the
// background: a store that closes waits for both.
package calls

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/internal/failures"
)

// Calls are those of one store.
type Calls struct {
	failures failures.Store
	life     context.Context // until Stop
	stop     context.CancelFunc
	running  sync.WaitGroup

	mu     sync.Mutex
	closed bool
}

// New returns the calls of a store that is open.
func New(f failures.Store) *Calls {
	c := &Calls{failures: f}
	c.life, c.stop = context.WithCancel(context.Background())
	return c
}

var errClosed = errors.New("the store is closed")

// Start notes that a call is under way until Done, unless the store is closed.
func (c *Calls) Start(op, resource string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return c.failures.New(op, resource, leasehold.ReasonUnavailable, errClosed)
	}
	c.running.Add(1)
	return nil
}

// Done ends what Start has noted.
func (c *Calls) Done() { c.running.Done() }

// Go runs f in the background, unless the store is closed. Its context ends with
// Stop.
func (c *Calls) Go(f func(ctx context.Context)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.running.Go(func() { f(c.life) })
	}
}

// Repeat runs f in the background again and again, with a pause of about a second.
func (c *Calls) Repeat(f func(ctx context.Context)) {
	c.Go(func(ctx context.Context) {
		for ctx.Err() == nil {
			f(ctx)
			sleep.For(ctx, time.Second/2+rand.N(time.Second))
		}
	})
}

// Stop ends the work in the background. Calls go on.
func (c *Calls) Stop() { c.stop() }

// Close refuses further calls, stops the work in the background, and reports
// whether it is the first Close.
func (c *Calls) Close() (first bool) {
	c.mu.Lock()
	first = !c.closed
	c.closed = true
	c.mu.Unlock()
	c.stop()
	return first
}

// Wait waits, after Close, for everything under way.
func (c *Calls) Wait() { c.running.Wait() }
