package console

import (
	"sync"
	"time"
)

// cached keeps an answer for a short time, so that many pages load the store like one.
type cached[T any] struct {
	mu    sync.Mutex
	until time.Time
	kept  T
}

// get returns what is kept, or loads it. An error is not kept.
func (c *cached[T]) get(life time.Duration, load func() (T, error)) (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Now().Before(c.until) {
		return c.kept, nil
	}
	fresh, err := load()
	if err == nil {
		c.kept, c.until = fresh, time.Now().Add(life)
	}
	return fresh, err
}

// totals keeps the last count for each filter.
type totals struct {
	mu       sync.Mutex
	byFilter map[string]*cached[total]
}

const maxTotals = 256 // filters of which the count is kept

func (t *totals) of(filter string) *cached[total] {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byFilter == nil || len(t.byFilter) >= maxTotals {
		t.byFilter = map[string]*cached[total]{}
	}
	if t.byFilter[filter] == nil {
		t.byFilter[filter] = new(cached[total])
	}
	return t.byFilter[filter]
}
