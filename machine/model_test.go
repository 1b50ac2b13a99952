package machine_test

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// replayModel is a second implementation of the Standard rules, deliberately in
// another style: it stores events, no states, and replays them from the first
// for every question.
type replayModel struct {
	events []event
	tokens uint64
}

// event is one thing that happened to a resource. What it is decides which
// fields are set.
type event struct {
	at       machine.Time
	what     string // granted, renewed, broken, released, changed or transferred
	resource string
	id       leasehold.ID
	holder   string
	token    uint64
	length   time.Duration
	limit    int
	metadata map[string]string
}

// leaseView is what the events say about the newest lease of a resource.
type leaseView struct {
	granted          bool
	id, before       leasehold.ID // the id now, and the one before it
	transferred      bool         // before ended by a transfer
	holder           string
	token            uint64
	length           time.Duration
	end              machine.Time
	broken, released bool // by a break; by a release
	renewals, limit  int
	metadata         map[string]string
}

func (m *replayModel) replay(resource string) (s leaseView) {
	for _, e := range m.events {
		if e.resource != resource {
			continue
		}
		switch e.what {
		case "granted":
			s = leaseView{granted: true, id: e.id, holder: e.holder, token: e.token, length: e.length,
				end: later(e.at, e.length), limit: e.limit, metadata: e.metadata}
		case "renewed":
			s.length, s.end = e.length, later(e.at, e.length)
			s.renewals++
		case "broken":
			s.broken, s.end = true, min(s.end, later(e.at, e.length))
		case "released":
			s.released, s.end = true, e.at
		case "changed":
			s.before, s.id, s.transferred = s.id, e.id, false
		case "transferred":
			s.before, s.id, s.transferred = s.id, e.id, true
			s.holder, s.token = e.holder, e.token
			if e.metadata != nil {
				s.metadata = e.metadata
			}
		}
	}
	return s
}

func later(t machine.Time, d time.Duration) machine.Time {
	if d < 0 {
		return machine.Never
	}
	return t + machine.Time(d)
}

// state names the lease's state in the words of the rules.
func (s leaseView) state(at machine.Time) string {
	over := at >= s.end
	switch {
	case !s.granted:
		return "available"
	case s.released:
		return "released"
	case over && s.broken:
		return "broken"
	case over:
		return "expired"
	case s.broken:
		return "breaking"
	}
	return "active"
}

// gone is the refusal that names how a lease ended.
func (s leaseView) gone(at machine.Time) string {
	if !s.granted {
		return "lease_not_found"
	}
	return "lease_" + s.state(at)
}

// used says why a proposed id is not free, by replaying every resource.
func (m *replayModel) used(id leasehold.ID, here string, at machine.Time) string {
	for _, e := range m.events {
		s := m.replay(e.resource)
		alive := s.state(at) == "active" || s.state(at) == "breaking"
		switch {
		case id.IsZero():
		case id == s.before:
			return "lease_released"
		case id == s.id && !alive:
			return s.gone(at)
		case id == s.id && e.resource != here:
			return "lease_id_in_use"
		}
	}
	return ""
}

// mismatch says why a caller who shows this is not the lease's owner.
func (s leaseView) mismatch(p proof) string {
	switch {
	case p.id.IsZero() || !s.granted:
		return "lease_not_found"
	case p.id == s.before && s.transferred:
		return "lease_released"
	case p.id != s.id:
		return "lease_not_found"
	case p.holder != "" && p.holder != s.holder:
		return "holder_mismatch"
	case p.token != 0 && p.token != s.token:
		return "token_mismatch"
	}
	return ""
}
