package console

import (
	"maps"
	"strings"
	"sync"
)

// keptVersions is for how many tables of those who wait changes are remembered: for
// more than a minute.
const keptVersions = 256

// waitChanges knows between which tables of those who wait the waiters of a lease have
// changed. A feed looks at few of the tables from which pages and rows are made: it asks
// for all changes since it looked last, and so misses nobody who came and went meanwhile.
type waitChanges struct {
	mu      sync.Mutex
	version uint64
	last    map[string]string // who waits, by lease
	changed map[string]uint64 // with which version the waiters of a lease changed
}

// add notes what the next table changes, and returns its version.
func (c *waitChanges) add(t waitTable) uint64 {
	now := make(map[string]string, len(t.byLease))
	for name, list := range t.byLease {
		var b strings.Builder
		for _, w := range list {
			b.WriteString(w.Holder)
			b.WriteByte(0)
		}
		now[name] = b.String()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.version++; c.changed == nil {
		c.changed = map[string]uint64{}
	}
	for name, list := range now {
		if c.last[name] != list {
			c.changed[name] = c.version
		}
	}
	for name := range c.last {
		if _, ok := now[name]; !ok {
			c.changed[name] = c.version
		}
	}
	if c.version%keptVersions == 0 {
		maps.DeleteFunc(c.changed, func(_ string, version uint64) bool { return version+keptVersions < c.version })
	}
	c.last = now
	return c.version
}

// since returns the leases whose waiters have changed after that version, unless it is
// too old to know.
func (c *waitChanges) since(version uint64) (names []string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version+keptVersions < c.version {
		return nil, false
	}
	for name, changed := range c.changed {
		if changed > version {
			names = append(names, name)
		}
	}
	return names, true
}
