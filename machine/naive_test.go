package machine_test

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// naive is a second opinion on the Standard rules, in another style on purpose:
// it has no states and changes nothing. It writes down what happened, and when
// asked about a resource it tells the story from the beginning.
type naive struct {
	facts  []fact
	tokens uint64
}

// fact is one thing that happened to a resource. Which of its fields mean
// anything depends on what it was.
type fact struct {
	at       machine.Time
	what     string // granted, renewed, cut short, released, renamed or handed
	resource string
	id       leasehold.ID
	holder   string
	token    uint64
	length   time.Duration
	limit    int
	metadata map[string]string
}

// story is what the facts say about the newest lease of a resource.
type story struct {
	told             bool
	id, before       leasehold.ID // the id now, and the one before it
	passedOn         bool         // the one before went in a transfer
	holder           string
	token            uint64
	length           time.Duration
	end              machine.Time
	cutShort, goneBy bool // broken by somebody; given back
	renewals, limit  int
	metadata         map[string]string
}

func (m *naive) note(f fact) { m.facts = append(m.facts, f) }

func (m *naive) tell(resource string) (s story) {
	for _, f := range m.facts {
		if f.resource != resource {
			continue
		}
		switch f.what {
		case "granted":
			s = story{told: true, id: f.id, holder: f.holder, token: f.token, length: f.length,
				end: later(f.at, f.length), limit: f.limit, metadata: f.metadata}
		case "renewed":
			s.length, s.end = f.length, later(f.at, f.length)
			s.renewals++
		case "cut short":
			s.cutShort, s.end = true, min(s.end, later(f.at, f.length))
		case "released":
			s.goneBy, s.end = true, f.at
		case "renamed":
			s.before, s.id, s.passedOn = s.id, f.id, false
		case "handed":
			s.before, s.id, s.passedOn = s.id, f.id, true
			s.holder, s.token = f.holder, f.token
			if f.metadata != nil {
				s.metadata = f.metadata
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

// state says in the words of the rules how the story stands.
func (s story) state(at machine.Time) string {
	over := at >= s.end
	switch {
	case !s.told:
		return "available"
	case s.goneBy:
		return "released"
	case over && s.cutShort:
		return "broken"
	case over:
		return "expired"
	case s.cutShort:
		return "breaking"
	}
	return "active"
}

// gone is the refusal that names how a lease ended.
func (s story) gone(at machine.Time) string {
	if !s.told {
		return "lease_not_found"
	}
	return "lease_" + s.state(at)
}

// used says why a proposed id is not free, by asking for every story there is.
func (m *naive) used(id leasehold.ID, here string, at machine.Time) string {
	for _, f := range m.facts {
		s := m.tell(f.resource)
		alive := s.state(at) == "active" || s.state(at) == "breaking"
		switch {
		case id.IsZero():
		case id == s.before:
			return "lease_released"
		case id == s.id && !alive:
			return s.gone(at)
		case id == s.id && f.resource != here:
			return "lease_id_in_use"
		}
	}
	return ""
}

// stranger says why a caller who shows this is not the lease's owner.
func (s story) stranger(p proof) string {
	switch {
	case p.id.IsZero() || !s.told:
		return "lease_not_found"
	case p.id == s.before && s.passedOn:
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
