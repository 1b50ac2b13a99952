// Package known remembers what a store knows by its own writes.
package known

import (
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// inHandFor is how long what a store has written counts as just read. To use it is
// the same as to take that long between a read and its write: what others did since
// makes the write fail, because the version is another. It may cost a lease that
// much of its time, so it is short.
const inHandFor = 500 * time.Millisecond

const (
	maxRows = 1_000  // of up to 10 kB each
	maxIDs  = 10_000 // in each of two generations
)

// Writes are a store's own, of rows of type T. The zero value is ready.
type Writes[T any] struct {
	mu    sync.Mutex
	rows  map[string]inHand[T]
	ids   map[leasehold.ID]string // resource by id
	older map[leasehold.ID]string // those before: the oldest half is forgotten at once
}

type inHand[T any] struct {
	row T
	at  time.Time
}

// Put notes the row as it was written. An id of zero is not noted.
func (w *Writes[T]) Put(resource string, id leasehold.ID, row T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows == nil || len(w.rows) >= maxRows {
		w.rows = map[string]inHand[T]{}
	}
	w.rows[resource] = inHand[T]{row, time.Now()}
	if id.IsZero() {
		return
	}
	if w.ids == nil || len(w.ids) >= maxIDs {
		w.ids, w.older = map[leasehold.ID]string{}, w.ids
	}
	w.ids[id] = resource
}

// Pop returns the row that was written a moment ago, once, and how long ago.
func (w *Writes[T]) Pop(resource string) (row T, age time.Duration, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h, ok := w.rows[resource]
	delete(w.rows, resource)
	age = time.Since(h.at)
	return h.row, age, ok && age < inHandFor
}

// Resource returns where the id was last written. It may be elsewhere by now.
func (w *Writes[T]) Resource(id leasehold.ID) (resource string, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if resource, ok = w.ids[id]; !ok {
		resource, ok = w.older[id]
	}
	return resource, ok
}
