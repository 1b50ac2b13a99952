package fence

import "sync"

// Checker keeps the highest token seen for each resource, in memory. The zero
// Checker is ready for use, and safe for concurrent use; do not copy it.
//
// It lives as long as the process that guards the data, which suits data in
// that process's own memory. Where data outlives the process the highest token
// must too: use SQL, or keep it beside the data in your own way.
//
// A Checker remembers each resource until Forget, in about 100 bytes beyond its
// name.
type Checker struct {
	mu      sync.Mutex
	entries map[string]*entry
}

// entry is one resource's highest token. Its lock is held while a guarded
// function runs, so slow work on one resource does not hold up the others.
type entry struct {
	mu        sync.Mutex
	seen      uint64
	forgotten bool // no longer in the map: look again
}

// Check refuses a token lower than the highest seen (ErrStale) and otherwise
// remembers it. The same token passes again: one holder writes more than once.
//
// By the time the caller acts on the answer it may be out of date. Use Do
// unless a lock of your own covers both the Check and the write.
func (c *Checker) Check(resource string, token uint64) error {
	return c.Do(resource, token, func() error { return nil })
}

// Do checks the token as Check does and, if it passes, runs write before any
// other Check or Do for the same resource is answered. The token counts as seen
// even if write fails: its holder was the newest. Write must not call the
// Checker for the same resource.
func (c *Checker) Do(resource string, token uint64, write func() error) error {
	if err := checkToken(token); err != nil {
		return err
	}
	e := c.lock(resource)
	defer e.mu.Unlock()
	if token < e.seen {
		return &StaleError{Resource: resource, Token: token, Seen: e.seen}
	}
	e.seen = token
	return write()
}

// Seen returns the highest token seen for a resource, or zero.
func (c *Checker) Seen(resource string) uint64 {
	c.mu.Lock()
	e := c.entries[resource]
	c.mu.Unlock()
	if e == nil {
		return 0
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen
}

// Forget drops what is known about a resource, after which any token passes
// for it. It is for resources that nobody will lease again; forgetting one in
// use lets a paused holder in.
func (c *Checker) Forget(resource string) {
	e := c.lock(resource)
	defer e.mu.Unlock()
	e.forgotten = true
	e.seen = 0
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, resource)
}

// lock returns the resource's entry, locked. An entry that was forgotten while
// we waited for it is looked up again; otherwise two writes could run at once,
// one under the old entry and one under the new.
func (c *Checker) lock(resource string) *entry {
	for {
		e := c.entry(resource)
		e.mu.Lock()
		if !e.forgotten {
			return e
		}
		e.mu.Unlock()
	}
}

func (c *Checker) entry(resource string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.entries[resource]
	if e == nil {
		e = new(entry)
		if c.entries == nil {
			c.entries = make(map[string]*entry)
		}
		c.entries[resource] = e
	}
	return e
}
