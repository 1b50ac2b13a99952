package local

import (
	"github.com/google/btree"

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
}

// absence is one time that a place is kept, until then.
type absence struct {
	*place
	end machine.Time
}

// queue is everybody who wants one resource. Absent places stand aside, so a
// dead client costs the living nothing. It is kept in order, so that it can be
// listed a bite at a time.
type queue struct {
	present *btree.BTreeG[*place]
	byID    map[leasehold.ID]*place // present and absent, those with an id
}

// freePlaces is what the trees of all queues are made of: most queues are short
// and soon empty.
var freePlaces = btree.NewFreeListG[*place](btree.DefaultFreeListSize)

func newQueue() *queue {
	return &queue{
		present: btree.NewWithFreeListG(btreeDegree, ahead, freePlaces),
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

func (q *queue) empty() bool { return q.present.Len() == 0 && len(q.byID) == 0 }

// first returns the waiter that is served next, or nil.
func (q *queue) first() *waiter {
	if p, ok := q.present.Min(); ok {
		return p.waiter
	}
	return nil
}

// join gives w the place, which is new, was kept, or is being returned to.
func (q *queue) join(p *place, w *waiter) {
	p.waiter, w.place = w, p
	if !p.id.IsZero() {
		q.byID[p.id] = p
	}
	q.present.ReplaceOrInsert(p)
}

// leave takes the place out of the line. If kept it can be taken up again.
func (q *queue) leave(p *place, kept bool) {
	q.present.Delete(p)
	p.waiter = nil
	if !kept {
		delete(q.byID, p.id)
	}
}

// after lists up to a bite of the present places behind p, in the order in which
// they would be served; nil is before the first.
func (q *queue) after(p *place) []*place {
	var places []*place
	each := func(next *place) bool {
		places = append(places, next)
		return len(places) < bite
	}
	if p == nil {
		q.present.Ascend(each)
	} else {
		q.present.AscendGreaterOrEqual(&place{priority: p.priority, order: p.order + 1}, each)
	}
	return places
}
