package local

import (
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// waiter is one request that waits.
type waiter struct {
	req     leasehold.AcquireRequest
	arrived machine.Instant
	answer  chan answer // of one: the engine never blocks on it
	place   *place
	id      leasehold.ID // of the grant that is on its way

	// granted: a lease is decided for it and on its way to disk.
	granted bool
	// gone: its caller has left.
	gone bool
	// overdue: its time was up while the grant was on its way.
	overdue bool
}

type answer struct {
	grant leasehold.Grant
	err   error
}

// place is a rank in a queue. It has no waiter while its client is away.
type place struct {
	resource string
	id       leasehold.ID // zero: the place cannot be kept
	holder   string
	priority int
	order    uint64
	waiter   *waiter
	began    machine.Time // of the wait, which may take several requests
	until    machine.Time // when it is given up, while absent
	at       int          // where in the heap; -1: not there
}

// absence is one time that a place is kept, until then.
type absence struct {
	*place
	end machine.Time
}

// queue is everybody who wants one resource. Absent places stand aside, so a
// dead client costs the living nothing.
type queue struct {
	present heap[*place]
	byID    map[leasehold.ID]*place // present and absent, those with an id
}

func newQueue() *queue {
	return &queue{
		present: heap[*place]{less: ahead, place: func(p *place, at int) { p.at = at }},
		byID:    map[leasehold.ID]*place{},
	}
}

// ahead says who is served first: the higher priority, then the earlier.
func ahead(a, b *place) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return a.order < b.order
}

func (q *queue) empty() bool { return q.present.len() == 0 && len(q.byID) == 0 }

// join gives w the place, which is new, was kept, or is being returned to.
func (q *queue) join(p *place, w *waiter) {
	p.waiter, w.place = w, p
	if !p.id.IsZero() {
		q.byID[p.id] = p
	}
	if p.at < 0 {
		q.present.push(p)
	}
}

// leave takes the place out of the line. If kept it can be taken up again.
func (q *queue) leave(p *place, kept bool) {
	if p.at >= 0 {
		q.present.remove(p.at)
	}
	p.waiter = nil
	if !kept {
		delete(q.byID, p.id)
	}
}

// line lists the present places in the order in which they would be served.
func (q *queue) line() []leasehold.Place {
	sorted := slices.Clone(q.present.items)
	slices.SortFunc(sorted, func(a, b *place) int {
		if ahead(a, b) {
			return -1
		}
		return 1
	})
	line := make([]leasehold.Place, len(sorted))
	for i, p := range sorted {
		line[i] = leasehold.Place{
			Holder:   p.holder,
			Priority: p.priority,
			Since:    p.waiter.arrived.WallTime(),
			Position: i + 1,
		}
	}
	return line
}
