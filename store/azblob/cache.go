package azblob

import (
	"sync"

	"github.com/leasehold/leasehold"
)

// cache has blobs as this process last wrote them, so that a resource it uses
// again needs no read. Every call made by it is conditional on the blob's etag, and
// a wrong one is read again.
type cache struct {
	mu  sync.Mutex
	all map[string]known
}

// known is a blob as it was last written. The id is that of its lease; zero: it
// has none.
type known struct {
	view
	id leasehold.ID
}

// maxKnown bounds the memory: beyond it, all are forgotten.
const maxKnown = 10_000

func (c *cache) put(v view, id leasehold.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil || len(c.all) >= maxKnown {
		c.all = map[string]known{}
	}
	c.all[v.resource] = known{v, id}
}

// get returns the blob if this id has its lease, or the zero id for no lease.
func (c *cache) get(resource string, id leasehold.ID) (view, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.all[resource]
	return k.view, ok && k.id == id
}

func (c *cache) drop(resource string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, resource)
}
