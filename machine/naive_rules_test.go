package machine_test

import (
	"cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// verdict is the naive model's answer: a refusal, "done", or "done before".
type verdict string

const (
	done       verdict = "done"
	doneBefore verdict = "done before"
)

// judge hears a call and notes what comes of it. Made is the id for a grant
// that proposes none.
func (m *naive) judge(at machine.Time, c call, made leasehold.ID) verdict {
	s := m.tell(c.resource)
	switch c.verb {
	case "acquire":
		return m.acquire(at, c, s, made)
	case "renew":
		if no := cmp.Or(s.stranger(c.proof), s.notActive(at)); no != "" {
			return verdict(no)
		}
		return m.renew(at, c, s, done)
	case "release":
		if no := cmp.Or(s.stranger(c.proof), s.notAlive(at)); no != "" {
			return verdict(no)
		}
		return m.happens(fact{at: at, what: "released", resource: c.resource})
	case "change":
		return m.change(at, c, s)
	case "transfer":
		return m.transfer(at, c, s, made)
	case "break":
		return m.cutShort(at, c, s)
	case "force":
		if no := s.notAlive(at); no != "" {
			return verdict(no)
		}
		return m.happens(fact{at: at, what: "released", resource: c.resource})
	}
	return done // settling: time needs no help from a story
}

func (m *naive) happens(f fact) verdict {
	m.note(f)
	return done
}

func (s story) notAlive(at machine.Time) string {
	if now := s.state(at); now != "active" && now != "breaking" {
		return s.gone(at)
	}
	return ""
}

func (s story) notActive(at machine.Time) string {
	if s.state(at) == "breaking" {
		return "lease_breaking"
	}
	return s.notAlive(at)
}

func (m *naive) acquire(at machine.Time, c call, s story, made leasehold.ID) verdict {
	held := map[string]string{"active": "lease_held", "breaking": "lease_breaking"}[s.state(at)]
	if held == "lease_held" && c.proposed == s.id && c.to == s.holder {
		return m.renew(at, c, s, doneBefore)
	}
	if no := cmp.Or(m.used(c.proposed, c.resource, at), held); no != "" {
		return verdict(no)
	}
	m.tokens++
	return m.happens(fact{at: at, what: "granted", resource: c.resource, id: cmp.Or(c.proposed, made), holder: c.to,
		token: m.tokens, length: c.ttl, limit: c.most, metadata: c.metadata})
}

func (m *naive) renew(at machine.Time, c call, s story, answer verdict) verdict {
	if s.limit >= 0 && s.renewals == s.limit {
		return "max_renewals_exceeded"
	}
	m.note(fact{at: at, what: "renewed", resource: c.resource, length: cmp.Or(c.ttl, s.length)})
	return answer
}

func (m *naive) change(at machine.Time, c call, s story) verdict {
	repeated := s.state(at) == "active" && c.id == s.before && !c.id.IsZero() && !s.passedOn && c.proposed == s.id
	shown := c.proof
	if repeated {
		shown.id = s.id // as good as showing the new one
	}
	if no := cmp.Or(s.stranger(shown), s.notActive(at)); no != "" {
		return verdict(no)
	}
	if c.proposed == s.id {
		return doneBefore
	}
	if no := m.used(c.proposed, c.resource, at); no != "" {
		return verdict(no)
	}
	return m.happens(fact{at: at, what: "renamed", resource: c.resource, id: c.proposed})
}

func (m *naive) transfer(at machine.Time, c call, s story, made leasehold.ID) verdict {
	if s.state(at) == "active" && c.id == s.before && !c.id.IsZero() && s.passedOn && c.proposed == s.id && c.to == s.holder {
		return doneBefore
	}
	no := s.stranger(c.proof)
	if no == "" && c.to == s.holder {
		no = "invalid_argument"
	}
	no = cmp.Or(no, s.notActive(at), m.used(c.proposed, c.resource, at))
	if no == "" && c.proposed == s.id {
		no = "lease_id_in_use"
	}
	if no != "" {
		return verdict(no)
	}
	m.tokens++
	return m.happens(fact{at: at, what: "handed", resource: c.resource, id: cmp.Or(c.proposed, made), holder: c.to,
		token: m.tokens, metadata: c.metadata})
}

func (m *naive) cutShort(at machine.Time, c call, s story) verdict {
	if no := s.notAlive(at); no != "" {
		return verdict(no)
	}
	f := fact{at: at, what: "cut short", resource: c.resource}
	if c.period != nil {
		f.length = *c.period
	}
	return m.happens(f)
}
