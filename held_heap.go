package leasehold

import (
	"container/heap"
	"time"
)

// The two queues that a held lease can stand in.
const (
	byDue  = iota // every held lease, by when the scheduler must look at it
	byLine        // leases that wait for a free place to renew, most urgent first
)

// queue is a heap of leases that know their own place in it, so that any of
// them can be moved or taken out.
type queue struct {
	order int // byDue or byLine
	items []*Held
}

// Len, Less, Swap, Push and Pop are for container/heap.

func (q *queue) Len() int           { return len(q.items) }
func (q *queue) Less(i, j int) bool { return q.key(q.items[i]) < q.key(q.items[j]) }

func (q *queue) Swap(i, j int) {
	q.items[i], q.items[j] = q.items[j], q.items[i]
	q.items[i].place[q.order] = int32(i + 1)
	q.items[j].place[q.order] = int32(j + 1)
}

func (q *queue) Push(x any) {
	h := x.(*Held)
	q.items = append(q.items, h)
	h.place[q.order] = int32(len(q.items))
}

func (q *queue) Pop() any {
	last := len(q.items) - 1
	h := q.items[last]
	q.items[last] = nil
	q.items = q.items[:last]
	h.place[q.order] = 0
	return h
}

func (q *queue) key(h *Held) time.Duration {
	if q.order == byDue {
		return h.due
	}
	return h.line
}

// put adds the lease, or moves it to where it belongs now.
func (q *queue) put(h *Held) {
	if at := h.place[q.order]; at > 0 {
		heap.Fix(q, int(at-1))
		return
	}
	heap.Push(q, h)
}

// drop takes the lease out, if it is there.
func (q *queue) drop(h *Held) {
	if at := h.place[q.order]; at > 0 {
		heap.Remove(q, int(at-1))
	}
}

// first returns the lease in front, or nil.
func (q *queue) first() *Held {
	if len(q.items) == 0 {
		return nil
	}
	return q.items[0]
}
