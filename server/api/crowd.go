package api

import "sync"

// crowd counts who is inside, by caller and in all, and lets no more in than
// the limits say.
type crowd struct {
	most, mostEach int

	mu   sync.Mutex
	all  int
	each map[string]int
}

func newCrowd(most, mostEach int) *crowd {
	return &crowd{most: most, mostEach: mostEach, each: map[string]int{}}
}

// enter says whether there is room. Whoever is let in must leave.
func (c *crowd) enter(caller string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most || c.each[caller] >= c.mostEach {
		return false
	}
	c.all++
	c.each[caller]++
	return true
}

func (c *crowd) leave(caller string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.each[caller]--; c.each[caller] == 0 {
		delete(c.each, caller)
	}
}

func (c *crowd) size() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}
