// Package heap is a binary heap for the hot path of the engine.
package heap

// Heap is a binary heap whose items know their index, so that any of them can be
// moved or removed in O(log n). The standard library's would cost an interface
// and two boxed calls a step on the hot path.
type Heap[T any] struct {
	Less  func(a, b T) bool
	Moved func(item T, at int) // called with an item's new index; -1: removed

	items []T
}

// Len returns how many items there are.
func (h *Heap[T]) Len() int { return len(h.items) }

// First returns the least item of a heap that is not empty.
func (h *Heap[T]) First() T { return h.items[0] }

// At returns the item at this index.
func (h *Heap[T]) At(at int) T { return h.items[at] }

// Push adds an item.
func (h *Heap[T]) Push(item T) {
	h.items = append(h.items, item)
	h.Moved(item, len(h.items)-1)
	h.up(len(h.items) - 1)
}

// Remove removes the item at this index.
func (h *Heap[T]) Remove(at int) {
	last := len(h.items) - 1
	gone := h.items[at]
	h.swap(at, last)
	var zero T
	h.items[last] = zero // for the garbage collector
	h.items = h.items[:last]
	h.Moved(gone, -1)
	if at < last {
		h.Fix(at)
	}
}

// Fix restores the order after the item at this index has changed.
func (h *Heap[T]) Fix(at int) {
	if !h.down(at) {
		h.up(at)
	}
}

func (h *Heap[T]) up(at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if !h.Less(h.items[at], h.items[parent]) {
			return
		}
		h.swap(at, parent)
		at = parent
	}
}

func (h *Heap[T]) down(at int) (changed bool) {
	for {
		child := 2*at + 1
		if child >= len(h.items) {
			return changed
		}
		if right := child + 1; right < len(h.items) && h.Less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.Less(h.items[child], h.items[at]) {
			return changed
		}
		h.swap(at, child)
		at, changed = child, true
	}
}

func (h *Heap[T]) swap(a, b int) {
	if a == b {
		return
	}
	h.items[a], h.items[b] = h.items[b], h.items[a]
	h.Moved(h.items[a], a)
	h.Moved(h.items[b], b)
}
