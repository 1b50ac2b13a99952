package leasehold

import (
	"container/heap"
	"time"
)

// deadline is when a held lease is renewed and when it is declared lost.
// Instants are readings of the Manager's clock.
type deadline struct {
	since time.Duration // the ttl counts from here
	line  time.Duration // the safety line, at which the lease is lost; never, if infinite
	next  time.Duration // when to renew; never, if not planned
	near  time.Duration // when to warn that the line is near; never, if that was done
	due   time.Duration // the soonest of the three
}

// restart counts a lease of this length from since.
func (d *deadline) restart(o *Options, since, length time.Duration, renew bool) {
	d.since, d.line, d.next, d.near = since, never, never, never
	next := since + o.intervalOf(length)
	if length != Infinite {
		d.line = since + min(o.lineOf(length), length-drift(length))
		d.near = next + (d.line-next)/2
	}
	if renew {
		d.next = next
	}
}

// length is the ttl for which the line was drawn, near enough for pauses.
func (d *deadline) length(o *Options) time.Duration {
	if d.line == never {
		return Infinite
	}
	return time.Duration(float64(d.line-d.since) / o.SafetyThreshold)
}

// lengthOf returns how long the lease lasts from the grant or renewal on: what
// the store promises, where that is less than the ttl.
func lengthOf(l Lease) time.Duration {
	if l.TTL != Infinite && l.Remaining > 0 {
		return min(l.TTL, l.Remaining)
	}
	return l.TTL
}

// drift is what two clocks may differ by over a ttl: one percent and 2 ms.
func drift(ttl time.Duration) time.Duration {
	return ttl/100 + 2*time.Millisecond
}

// breakRemaining is what was left of the break period by the store's answer,
// zero where that is not known.
func breakRemaining(e *Error) time.Duration {
	switch {
	case e == nil || e.Reason != ReasonBreaking:
		return 0
	case e.Remaining <= 0 && e.Current != nil:
		return max(e.Current.Remaining, 0)
	}
	return max(e.Remaining, 0)
}

// lineOf returns how long after the last success a lease of this length is
// declared lost.
func (o *Options) lineOf(ttl time.Duration) time.Duration {
	return time.Duration(float64(ttl) * o.SafetyThreshold)
}

// marginOf is the time between the safety line and the end of a lease of this
// length, rather too short than too long.
func (o *Options) marginOf(ttl time.Duration) time.Duration {
	return max(ttl-drift(ttl)-o.lineOf(ttl), 0)
}

// intervalOf returns how long after the last success it is renewed.
func (o *Options) intervalOf(ttl time.Duration) time.Duration {
	return o.scale(o.RenewInterval, ttl, (*Options).defaultInterval)
}

// retryOf returns the pause before the first retry of its renewal.
func (o *Options) retryOf(ttl time.Duration) time.Duration {
	return o.scale(o.RenewRetryInterval, ttl, (*Options).defaultRetry)
}

// scale fits one of the options, which were given for leases of the usual
// length, to a lease of another length: in proportion, or by the defaults where
// one of the two is infinite.
func (o *Options) scale(d, ttl time.Duration, byDefault func(*Options) time.Duration) time.Duration {
	switch {
	case ttl == o.TTL:
		return d
	case ttl == Infinite || o.TTL == Infinite:
		other := *o
		other.TTL, other.RenewInterval = ttl, 0
		other.RenewInterval = other.defaultInterval()
		return byDefault(&other)
	}
	return time.Duration(float64(d) * (float64(ttl) / float64(o.TTL)))
}

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
