package local

// heap is a binary heap whose items know their index, so that any of them can be
// moved or removed in O(log n). The standard library's would cost an interface
// and two boxed calls a step on the hot path.
type heap[T any] struct {
	items []T
	less  func(a, b T) bool
	moved func(item T, at int) // called with an item's new index; -1: removed
}

func (h *heap[T]) len() int { return len(h.items) }

// first returns the least item of a heap that is not empty.
func (h *heap[T]) first() T { return h.items[0] }

func (h *heap[T]) push(item T) {
	h.items = append(h.items, item)
	h.moved(item, len(h.items)-1)
	h.up(len(h.items) - 1)
}

func (h *heap[T]) remove(at int) {
	last := len(h.items) - 1
	gone := h.items[at]
	h.swap(at, last)
	var zero T
	h.items[last] = zero // for the garbage collector
	h.items = h.items[:last]
	h.moved(gone, -1)
	if at < last {
		h.fix(at)
	}
}

// fix restores the order after the item at this index has changed.
func (h *heap[T]) fix(at int) {
	if !h.down(at) {
		h.up(at)
	}
}

func (h *heap[T]) up(at int) {
	for at > 0 {
		parent := (at - 1) / 2
		if !h.less(h.items[at], h.items[parent]) {
			return
		}
		h.swap(at, parent)
		at = parent
	}
}

func (h *heap[T]) down(at int) (changed bool) {
	for {
		child := 2*at + 1
		if child >= len(h.items) {
			return changed
		}
		if right := child + 1; right < len(h.items) && h.less(h.items[right], h.items[child]) {
			child = right
		}
		if !h.less(h.items[child], h.items[at]) {
			return changed
		}
		h.swap(at, child)
		at, changed = child, true
	}
}

func (h *heap[T]) swap(a, b int) {
	if a == b {
		return
	}
	h.items[a], h.items[b] = h.items[b], h.items[a]
	h.moved(h.items[a], a)
	h.moved(h.items[b], b)
}
