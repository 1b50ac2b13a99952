package leasehold

import (
	"context"
	"sync"
)

// crew counts goroutines. It is a WaitGroup whose wait can be given up without
// leaving a waiting goroutine behind.
type crew struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // closed when n drops to zero; nil while nobody waits
}

func (c *crew) join() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *crew) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n--
	if c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// run starts f as one of the crew.
func (c *crew) run(f func()) {
	c.join()
	go func() {
		defer c.leave()
		f()
	}()
}

// wait returns how many are left when the context ends, zero if they all left
// before.
func (c *crew) wait(ctx context.Context) int {
	select {
	case <-c.gone():
		return 0
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.n
	}
}

func (c *crew) gone() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == 0 {
		nobody := make(chan struct{})
		close(nobody)
		return nobody
	}
	if c.empty == nil {
		c.empty = make(chan struct{})
	}
	return c.empty
}
