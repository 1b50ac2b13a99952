package sets_test

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

// model is the engine as its promises describe it: a list of live leases and a list of
// waiters, searched from one end to the other. Times count from the start.
type model struct {
	now    time.Duration
	leases []*lease
	places []*place // of waiters, present and absent
	ended  map[leasehold.ID]ending
	notes  []note
	order  int // of the newest place
}

// lease is a live lease.
type lease struct {
	resource string // empty: a set
	claims   []leasehold.Claim
	holder   string
	id       leasehold.ID
	former   leasehold.ID // before a transfer
	ttl      time.Duration
	ends     time.Duration // or never
	breaking bool
	notes    []leasehold.Note // of the holders before

	name  string // as the engine answered
	token uint64
}

const never = time.Duration(math.MaxInt64)

func (l *lease) covers() []leasehold.Claim { return covers(l.resource, l.claims) }

// ending is how the lease of an id ended. That of a plain name is known until the next
// one is granted there.
type ending struct {
	resource string
	reason   leasehold.Reason
}

// note is what a holder left.
type note struct {
	claims []leasehold.Claim
	leasehold.Note
}

// place is the position of a waiter, or is kept for one.
type place struct {
	leasehold.AcquireRequest
	order     int
	reserves  time.Duration // until when it keeps its claims free
	present   *answer       // nil: it is kept for an absent client
	deadline  time.Duration // of the wait
	keptUntil time.Duration // if it is absent
}

func (p *place) covers() []leasehold.Claim { return covers(p.Resource, p.Claims) }

// answer is what the model answers to a request: nothing yet, a lease, or a reason.
type answer struct {
	done   bool
	lease  *lease // granted, or renewed
	again  bool   // renewed
	notes  []leasehold.Note
	reason leasehold.Reason

	blockers []*lease  // that may be named as the one in the way
	kept     []*place  // reservations that may be named
	graph    waitGraph // of which a cycle is
}

func (a *answer) refuse(reason leasehold.Reason) *answer {
	a.done, a.reason = true, reason
	return a
}

// waits says whether a waiter goes on waiting.
func (a *answer) waits() bool {
	return a.reason == leasehold.ReasonHeld || a.reason == leasehold.ReasonBreaking
}

// before says whether the place is served before a request of this rank.
func (p *place) before(priority, order int) bool {
	return cmp.Or(cmp.Compare(priority, p.Priority), cmp.Compare(p.order, order)) < 0
}

// reserving says whether others must wait for the waiter at the place.
func (m *model) reserving(p *place) bool {
	return p.present != nil && (p.Claims == nil || m.now < p.reserves)
}

// find returns the live lease with the id, or nil.
func (m *model) find(id leasehold.ID) *lease {
	for _, l := range m.leases {
		if l.id == id && !id.IsZero() {
			return l
		}
	}
	return nil
}

// placeOf returns the place that the request comes back to, or nil.
func (m *model) placeOf(r leasehold.AcquireRequest) *place {
	for _, p := range m.places {
		if p.ID == r.ID && !r.ID.IsZero() && (p.Claims == nil) == (r.Claims == nil) && p.Resource == r.Resource {
			return p
		}
	}
	return nil
}

// blockers are the live leases in the way, without the request's own.
func (m *model) blockers(r leasehold.AcquireRequest) (found []*lease) {
	for _, l := range m.leases {
		if !m.upgrades(r, l) && exclude(covers(r.Resource, r.Claims), l.covers()) {
			found = append(found, l)
		}
	}
	return found
}

// reservations are the places ahead that keep a part of the request free. An upgrade
// waits for none: they wait for it.
func (m *model) reservations(r leasehold.AcquireRequest, priority, order int) (found []*place) {
	if m.upgrades(r, m.find(r.ID)) {
		return nil
	}
	for _, p := range m.places {
		if m.reserving(p) && p.before(priority, order) && exclude(covers(r.Resource, r.Claims), p.covers()) {
			found = append(found, p)
		}
	}
	return found
}

// upgrades says whether the request is for the lease itself, in whatever modes.
func (m *model) upgrades(r leasehold.AcquireRequest, l *lease) bool {
	return l != nil && l.id == r.ID && !r.ID.IsZero() && l.holder == r.Holder && r.Claims != nil && samePatterns(l.claims, r.Claims)
}

func samePatterns(a, b []leasehold.Claim) bool {
	return slices.EqualFunc(a, b, func(x, y leasehold.Claim) bool { return x.Namespace == y.Namespace && x.Pattern == y.Pattern })
}

// try decides a request and carries it out if it is granted.
func (m *model) try(r leasehold.AcquireRequest, priority, order int) *answer {
	a := &answer{}
	own := m.find(r.ID)
	if own != nil && (own.resource != r.Resource || !samePatterns(own.claims, r.Claims)) {
		return a.refuse(leasehold.ReasonIDInUse)
	}
	if how, known := m.ended[r.ID]; own == nil && known && !r.ID.IsZero() {
		return a.refuse(how.reason)
	}
	if own != nil && (own.breaking || own.holder != r.Holder) {
		a.blockers = []*lease{own}
		return a.refuse(heldReason(own))
	}
	if own != nil && slices.Equal(own.claims, r.Claims) {
		own.ttl, own.ends = r.TTL, m.end(r.TTL)
		a.done, a.lease, a.again = true, own, true
		return a
	}
	if a.blockers = m.blockers(r); len(a.blockers) > 0 {
		return a.refuse(heldReason(a.blockers[0]))
	}
	if a.kept = m.reservations(r, priority, order); len(a.kept) > 0 {
		return a.refuse(leasehold.ReasonHeld)
	}
	m.grant(a, own, r)
	return a
}

func heldReason(l *lease) leasehold.Reason {
	if l.breaking {
		return leasehold.ReasonBreaking
	}
	return leasehold.ReasonHeld
}

func (m *model) end(ttl time.Duration) time.Duration {
	if ttl == leasehold.Infinite {
		return never
	}
	return m.now + ttl
}

// grant makes a lease, or changes the modes of one.
func (m *model) grant(a *answer, own *lease, r leasehold.AcquireRequest) {
	a.done = true
	if own == nil {
		own = &lease{resource: r.Resource, holder: r.Holder, id: r.ID}
		m.leases = append(m.leases, own)
		own.notes = m.readNotes(covers(r.Resource, r.Claims))
		for id, how := range m.ended {
			if r.Resource != "" && how.resource == r.Resource {
				delete(m.ended, id)
			}
		}
	}
	own.claims, own.ttl, own.ends = r.Claims, r.TTL, m.end(r.TTL)
	a.lease, a.notes = own, own.notes
	if p := m.placeOf(r); p != nil {
		m.drop(p)
		if p.present != nil {
			p.present.refuse(leasehold.ReasonSuperseded)
		}
	}
	m.refuseCycles(r.Holder)
}

// readNotes removes the notes about the claims.
func (m *model) readNotes(claims []leasehold.Claim) (read []leasehold.Note) {
	m.notes = slices.DeleteFunc(m.notes, func(n note) bool {
		if meet(n.claims, claims) {
			read = append(read, n.Note)
			return true
		}
		return false
	})
	return read
}

func (m *model) drop(p *place) {
	m.places = slices.DeleteFunc(m.places, func(have *place) bool { return have == p })
}

// acquire is a request that does not wait.
func (m *model) acquire(r leasehold.AcquireRequest) *answer {
	priority, order := m.rank(r)
	a := m.try(r, priority, order)
	m.serve()
	return a
}

// rank is that of a place that is kept for the request, or behind all of its priority.
func (m *model) rank(r leasehold.AcquireRequest) (priority, order int) {
	if p := m.placeOf(r); p != nil {
		return p.Priority, p.order
	}
	return r.Priority, math.MaxInt
}

// wait is a request that waits.
func (m *model) wait(r leasehold.AcquireRequest) *answer {
	defer m.serve()
	priority, order := m.rank(r)
	a := m.try(r, priority, order)
	if !a.waits() {
		return a
	}
	p := m.placeOf(r)
	switch {
	case p == nil:
		m.order++
		p = &place{AcquireRequest: r, order: m.order, reserves: m.end(r.TTL)}
		m.places = append(m.places, p)
	case p.Holder != r.Holder || !samePatterns(p.Claims, r.Claims):
		return (&answer{}).refuse(leasehold.ReasonIDInUse)
	case p.present != nil:
		p.present.refuse(leasehold.ReasonSuperseded)
	}
	r.Priority = p.Priority
	p.AcquireRequest = r
	p.present, p.deadline = &answer{}, m.now+r.Timeout
	if p.Sequence && slices.ContainsFunc(m.places, func(q *place) bool { return q.Holder == p.Holder && m.cycle(q, nil, "") }) {
		m.refuseCycle(p)
	}
	return p.present
}

// serve grants to waiters, in their order, until there is none that can be decided. First
// those are refused whose id is spent: they wait for nobody any more.
func (m *model) serve() {
	for _, p := range slices.Clone(m.places) {
		if how, spent := m.ended[p.ID]; spent && !p.ID.IsZero() && p.present != nil && m.find(p.ID) == nil {
			m.drop(p)
			p.present.refuse(how.reason)
		}
	}
	for m.serveOne() {
	}
}

// ordered are the places in the order in which they are served.
func (m *model) ordered() []*place {
	return slices.SortedFunc(slices.Values(m.places), func(a, b *place) int {
		return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.order, b.order))
	})
}

func (m *model) serveOne() bool {
	for _, p := range m.ordered() {
		if p.present == nil {
			continue
		}
		waiting := p.present
		m.drop(p) // a grant would otherwise supersede it
		a := m.try(p.AcquireRequest, p.Priority, p.order)
		if !a.waits() {
			*waiting = *a
			return true
		}
		m.places = append(m.places, p)
	}
	return false
}

// dequeue ends a wait without a grant. A place with an id is kept for a while.
func (m *model) dequeue(p *place, reason leasehold.Reason) {
	p.present.refuse(reason)
	p.present, p.keptUntil = nil, m.now+leasehold.KeptPlace
	if p.ID.IsZero() {
		m.drop(p)
	}
	m.serve()
}

// finish ends a lease.
func (m *model) finish(l *lease, reason leasehold.Reason) {
	m.leases = slices.DeleteFunc(m.leases, func(have *lease) bool { return have == l })
	m.ended[l.id] = ending{l.resource, reason}
}

func (m *model) release(l *lease, text string) {
	m.finish(l, leasehold.ReasonReleased)
	if text != "" {
		m.notes = append(m.notes, note{l.covers(), leasehold.Note{From: l.holder, Text: text}})
	}
	m.serve()
}

// transfer moves a lease, unless its new holder would then wait for itself: by the graph
// that it answers.
func (m *model) transfer(l *lease, to string, id leasehold.ID) (leasehold.Reason, waitGraph) {
	if l.breaking {
		return leasehold.ReasonBreaking, nil
	}
	for _, p := range m.places {
		if p.Holder == to && m.cycle(p, l, to) {
			return leasehold.ReasonDeadlock, m.graph(l, to)
		}
	}
	delete(m.ended, l.former) // only the last one is remembered
	l.former = l.id
	m.ended[l.id] = ending{l.resource, leasehold.ReasonReleased}
	l.holder, l.id, l.notes = to, id, nil
	m.serve()
	return "", nil
}

// breakLeases ends leases after the period.
func (m *model) breakLeases(leases []*lease, period time.Duration) {
	for _, l := range leases {
		l.breaking, l.ends = true, min(l.ends, m.now+period)
		if l.ends == m.now {
			m.finish(l, leasehold.ReasonBroken)
		}
	}
	m.serve()
}

// onName are the leases that a break of a plain name breaks: its own, or else the sets
// that have it.
func (m *model) onName(name string) (found []*lease) {
	for _, l := range m.leases {
		switch {
		case l.resource == name:
			return []*lease{l}
		case slices.ContainsFunc(l.claims, func(c leasehold.Claim) bool { return c.Namespace == "" && c.Pattern == name }):
			found = append(found, l)
		}
	}
	return found
}

// advance lets time pass.
func (m *model) advance(d time.Duration) {
	for until := m.now + d; ; {
		next := m.nextEvent()
		if next > until {
			m.now = until
			return
		}
		m.now = next
		m.happen()
	}
}

// nextEvent is when time alone next changes something.
func (m *model) nextEvent() time.Duration {
	next := never
	consider := func(t time.Duration) {
		if t > m.now {
			next = min(next, t)
		}
	}
	for _, l := range m.leases {
		consider(l.ends)
	}
	for _, p := range m.places {
		if p.present == nil {
			consider(p.keptUntil)
			continue
		}
		consider(p.deadline)
		consider(p.reserves)
	}
	return next
}

func (m *model) happen() {
	for _, l := range slices.Clone(m.leases) {
		switch {
		case l.ends > m.now:
		case l.breaking:
			m.finish(l, leasehold.ReasonBroken)
		default:
			m.finish(l, leasehold.ReasonExpired)
		}
	}
	for _, p := range slices.Clone(m.places) {
		switch {
		case p.present == nil && p.keptUntil <= m.now:
			m.drop(p)
		case p.present != nil && p.deadline <= m.now:
			m.dequeue(p, leasehold.ReasonTimeout)
		}
	}
	m.serve()
}

// cycle says whether the waiter at the place waits for itself, over others. A lease may
// be about to be another holder's.
func (m *model) cycle(from *place, moved *lease, to string) bool {
	if !from.Sequence || from.present == nil {
		return false
	}
	reached := map[string]bool{}
	for queue := m.edges(from, moved, to); len(queue) > 0; queue = queue[1:] {
		holder := queue[0]
		if holder == from.Holder {
			return true
		}
		if reached[holder] {
			continue
		}
		reached[holder] = true
		for _, p := range m.places {
			if p.Holder == holder && p.Sequence && p.present != nil {
				queue = append(queue, m.edges(p, moved, to)...)
			}
		}
	}
	return false
}

// edges are the holders whom the waiter waits for: of leases in its way, and of
// reservations ahead of it. Its holder's own reservation is none: that holder came
// twice. Nor is the place before it in the queue of a name: that becomes an edge when it
// is granted.
func (m *model) edges(p *place, moved *lease, to string) (holders []string) {
	for _, l := range m.blockers(p.AcquireRequest) {
		if l == moved {
			holders = append(holders, to)
		} else {
			holders = append(holders, l.holder)
		}
	}
	for _, r := range m.reservations(p.AcquireRequest, p.Priority, p.order) {
		if r.Holder != p.Holder && (r.Claims != nil || p.Claims != nil) {
			holders = append(holders, r.Holder)
		}
	}
	return holders
}

// refuseCycles refuses the waits of a holder that a grant to it made endless, the latest
// first.
func (m *model) refuseCycles(holder string) {
	for _, p := range slices.SortedFunc(slices.Values(m.places), func(a, b *place) int { return cmp.Compare(b.order, a.order) }) {
		if p.Holder == holder && p.present != nil && m.cycle(p, nil, "") {
			m.refuseCycle(p)
		}
	}
}

func (m *model) refuseCycle(p *place) {
	p.present.graph = m.graph(nil, "")
	m.drop(p)
	p.present.refuse(leasehold.ReasonDeadlock)
}

// waitGraph has who waits for whom.
type waitGraph map[[2]string]bool

// graph is of the holders whose requests are one sequence.
func (m *model) graph(moved *lease, to string) waitGraph {
	g := waitGraph{}
	for _, p := range m.places {
		if p.Sequence && p.present != nil {
			for _, holder := range m.edges(p, moved, to) {
				g[[2]string{p.Holder, holder}] = true
			}
		}
	}
	return g
}
