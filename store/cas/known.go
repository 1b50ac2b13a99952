package cas

import (
	"maps"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// inHandFor is how long an item that this store has written counts as just read.
// To use it is the same as to take that long between a read and its write: what
// others did since makes the write fail, and the end of a lease is judged by the
// time of the answer. It costs a lease that much of its time, so it is short.
const inHandFor = 500 * time.Millisecond

const (
	maxItems = 1_000  // of up to 10 kB each
	maxIDs   = 10_000 // in each of two generations
)

// known is what this store knows by its own writes.
type known struct {
	mu    sync.Mutex
	items map[string]inHand
	ids   map[leasehold.ID]string // resource by id
	older map[leasehold.ID]string // those before: the oldest half is forgotten at once
}

type inHand struct {
	Item
	at time.Time
}

// put notes the item as it was written.
func (k *known) put(item Item) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.items == nil || len(k.items) >= maxItems {
		k.items = map[string]inHand{}
	}
	item.Row.Metadata = maps.Clone(item.Row.Metadata) // the answer has the other one
	k.items[item.Row.Resource] = inHand{item, time.Now()}
	if item.Row.ID.IsZero() {
		return
	}
	if k.ids == nil || len(k.ids) >= maxIDs {
		k.ids, k.older = map[leasehold.ID]string{}, k.ids
	}
	k.ids[item.Row.ID] = item.Row.Resource
}

// pop returns the item that was written a moment ago, once.
func (k *known) pop(resource string) (Item, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	item, ok := k.items[resource]
	delete(k.items, resource)
	return item.Item, ok && time.Since(item.at) < inHandFor
}

// resource returns where the id was last written. It may be elsewhere by now.
func (k *known) resource(id leasehold.ID) (resource string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if resource, ok = k.ids[id]; !ok {
		resource, ok = k.older[id]
	}
	return resource, ok
}
