package leasehold

import (
	"container/heap"
	"time"
)

// The orders of the two heaps that a held lease can be in.
const (
	byDue  = iota // when the lease must be renewed or is lost
	byLine        // its safety line: the most urgent first
)

// heldHeap is a heap of leases that know their own index in it, so that any of
// them can be moved or removed.
type heldHeap struct {
	order int // byDue or byLine
	items []*Held
}

// Len, Less, Swap, Push and Pop are for container/heap.

func (hs *heldHeap) Len() int           { return len(hs.items) }
func (hs *heldHeap) Less(i, j int) bool { return hs.key(hs.items[i]) < hs.key(hs.items[j]) }

func (hs *heldHeap) Swap(i, j int) {
	hs.items[i], hs.items[j] = hs.items[j], hs.items[i]
	hs.items[i].index[hs.order] = int32(i + 1)
	hs.items[j].index[hs.order] = int32(j + 1)
}

func (hs *heldHeap) Push(x any) {
	h := x.(*Held)
	hs.items = append(hs.items, h)
	h.index[hs.order] = int32(len(hs.items))
}

func (hs *heldHeap) Pop() any {
	last := len(hs.items) - 1
	h := hs.items[last]
	hs.items[last] = nil
	hs.items = hs.items[:last]
	h.index[hs.order] = 0
	return h
}

func (hs *heldHeap) key(h *Held) time.Duration {
	if hs.order == byDue {
		return h.due
	}
	return h.line
}

// put adds the lease, or moves it to where it belongs now.
func (hs *heldHeap) put(h *Held) {
	if at := h.index[hs.order]; at > 0 {
		heap.Fix(hs, int(at-1))
		return
	}
	heap.Push(hs, h)
}

// drop removes the lease, if it is there.
func (hs *heldHeap) drop(h *Held) {
	if at := h.index[hs.order]; at > 0 {
		heap.Remove(hs, int(at-1))
	}
}

// first returns the lease in front, or nil.
func (hs *heldHeap) first() *Held {
	if len(hs.items) == 0 {
		return nil
	}
	return hs.items[0]
}
