package local

import (
	"github.com/google/btree"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// waiter is one request that waits.
type waiter struct {
	req      leasehold.AcquireRequest
	arrived  machine.Instant
	answer   chan answer // of one: the engine never blocks on it
	position *position
	id       leasehold.ID // of the grant that is being committed

	granted bool // a lease, or a refusal, is decided for it and being committed
	left    bool // its caller has left
	overdue bool // its timeout passed while the grant was being committed
}

// answer is the result of a wait.
type answer struct {
	grant leasehold.Grant
	err   error
}

// position is a rank in a queue. It has no waiter while it is reserved for a
// client that may come back.
type position struct {
	resource string            // of a plain name
	claims   []leasehold.Claim // of a set
	id       leasehold.ID      // zero: it cannot be reserved
	holder   string
	priority int
	order    uint64
	waiter   *waiter
	since    machine.Time // start of the wait, which may take several requests
	until    machine.Time // until when it is kept for an absent client

	reserves machine.Time // until when it keeps what it claims free, if it is present
	lapse    int32        // where it is in state.lapses; -1: it is not
}

// covers returns what the position is for.
func (p *position) covers() []leasehold.Claim {
	return machine.Covers(p.resource, p.claims)
}

// claimsOrNone returns the claims of a set's position, if there is one.
func (p *position) claimsOrNone() []leasehold.Claim {
	if p == nil {
		return nil
	}
	return p.claims
}

// reservation keeps a position for one absence of its client.
type reservation struct {
	*position
	end machine.Time
}

// interruptedWait is a wait whose request ended while its position is reserved.
type interruptedWait struct {
	reservation
	waiter *waiter
	why    string
	left   machine.Instant
}

// queue is everybody who waits for one resource, or for any set. Reserved positions are not
// among the present ones, so a dead client costs the others nothing. It is kept
// in order, so that it can be listed in steps.
type queue struct {
	present *btree.BTreeG[*position]
	all     *btree.BTreeG[*position]   // present in any queue, by order
	byID    map[leasehold.ID]*position // present and reserved, those with an id
}

// freeNodes is shared by the trees of all queues: most queues are short and soon
// empty.
var freeNodes = btree.NewFreeListG[*position](btree.DefaultFreeListSize)

func newQueue(all *btree.BTreeG[*position]) *queue {
	return &queue{
		present: btree.NewWithFreeListG(btreeDegree, ahead, freeNodes),
		all:     all,
		byID:    map[leasehold.ID]*position{},
	}
}

// ahead says who is served first: the higher priority, then the earlier.
func ahead(a, b *position) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	return a.order < b.order
}

// earlier orders the positions of all queues.
func earlier(a, b *position) bool { return a.order < b.order }

func (q *queue) empty() bool { return q.present.Len() == 0 && len(q.byID) == 0 }

// first returns the waiter that is served next, or nil.
func (q *queue) first() *waiter {
	if p, ok := q.present.Min(); ok {
		return p.waiter
	}
	return nil
}

// add puts w at the position, which is new, was reserved, or is returned to. It reports
// whether the position is present only now.
func (q *queue) add(p *position, w *waiter) (added bool) {
	p.waiter, w.position = w, p
	if !p.id.IsZero() {
		q.byID[p.id] = p
	}
	_, again := q.present.ReplaceOrInsert(p)
	if !again {
		q.all.ReplaceOrInsert(p)
	}
	return !again
}

// remove takes the position out of the queue. A reserved one can be added again. It
// reports whether it was present.
func (q *queue) remove(p *position, reserved bool) (was bool) {
	if _, was = q.present.Delete(p); was {
		q.all.Delete(p)
	}
	p.waiter = nil
	if !reserved {
		delete(q.byID, p.id)
	}
	return was
}

// after lists the present positions behind p, one step of them, in the order in
// which they are served; nil is before the first.
func (q *queue) after(p *position) []*position {
	var positions []*position
	each := func(next *position) bool {
		positions = append(positions, next)
		return len(positions) < stepSize
	}
	if p == nil {
		q.present.Ascend(each)
	} else {
		q.present.AscendGreaterOrEqual(&position{priority: p.priority, order: p.order + 1}, each)
	}
	return positions
}
