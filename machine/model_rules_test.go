package machine_test

import (
	"cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// answer is the model's answer: a refusal, "done", or "done before".
type answer string

const (
	done       answer = "done"
	doneBefore answer = "done before"
)

// decide answers a call and stores its event. Made is the id for a grant that
// proposes none.
func (m *replayModel) decide(at machine.Time, c call, made leasehold.ID) answer {
	s := m.replay(c.resource)
	switch c.verb {
	case "acquire":
		return m.acquire(at, c, s, made)
	case "renew":
		if no := cmp.Or(s.mismatch(c.proof), s.notActive(at)); no != "" {
			return answer(no)
		}
		return m.renew(at, c, s, done)
	case "release":
		if no := cmp.Or(s.mismatch(c.proof), s.notAlive(at)); no != "" {
			return answer(no)
		}
		return m.record(event{at: at, what: "released", resource: c.resource})
	case "change":
		return m.change(at, c, s)
	case "transfer":
		return m.transfer(at, c, s, made)
	case "break":
		return m.breakLease(at, c, s)
	case "force":
		if no := s.notAlive(at); no != "" {
			return answer(no)
		}
		return m.record(event{at: at, what: "released", resource: c.resource})
	}
	return done // expire: replaying needs no help with time
}

func (m *replayModel) record(e event) answer {
	m.events = append(m.events, e)
	return done
}

func (s leaseView) notAlive(at machine.Time) string {
	if now := s.state(at); now != "active" && now != "breaking" {
		return s.gone(at)
	}
	return ""
}

func (s leaseView) notActive(at machine.Time) string {
	if s.state(at) == "breaking" {
		return "lease_breaking"
	}
	return s.notAlive(at)
}

func (m *replayModel) acquire(at machine.Time, c call, s leaseView, made leasehold.ID) answer {
	held := map[string]string{"active": "lease_held", "breaking": "lease_breaking"}[s.state(at)]
	if held == "lease_held" && c.proposed == s.id && c.to == s.holder {
		return m.renew(at, c, s, doneBefore)
	}
	if no := cmp.Or(m.used(c.proposed, c.resource, at), held); no != "" {
		return answer(no)
	}
	m.tokens++
	return m.record(event{at: at, what: "granted", resource: c.resource, id: cmp.Or(c.proposed, made), holder: c.to,
		token: m.tokens, length: c.ttl, limit: c.most, metadata: c.metadata})
}

func (m *replayModel) renew(at machine.Time, c call, s leaseView, answer answer) answer {
	if s.limit >= 0 && s.renewals == s.limit {
		return "max_renewals_exceeded"
	}
	m.record(event{at: at, what: "renewed", resource: c.resource, length: cmp.Or(c.ttl, s.length)})
	return answer
}

func (m *replayModel) change(at machine.Time, c call, s leaseView) answer {
	repeated := s.state(at) == "active" && c.id == s.before && !c.id.IsZero() && !s.transferred && c.proposed == s.id
	shown := c.proof
	if repeated {
		shown.id = s.id // as good as showing the new one
	}
	if no := cmp.Or(s.mismatch(shown), s.notActive(at)); no != "" {
		return answer(no)
	}
	if c.proposed == s.id {
		return doneBefore
	}
	if no := m.used(c.proposed, c.resource, at); no != "" {
		return answer(no)
	}
	return m.record(event{at: at, what: "changed", resource: c.resource, id: c.proposed})
}

func (m *replayModel) transfer(at machine.Time, c call, s leaseView, made leasehold.ID) answer {
	if s.state(at) == "active" && c.id == s.before && !c.id.IsZero() && s.transferred && c.proposed == s.id && c.to == s.holder {
		return doneBefore
	}
	no := s.mismatch(c.proof)
	if no == "" && c.to == s.holder {
		no = "invalid_argument"
	}
	no = cmp.Or(no, s.notActive(at), m.used(c.proposed, c.resource, at))
	if no == "" && c.proposed == s.id {
		no = "lease_id_in_use"
	}
	if no != "" {
		return answer(no)
	}
	m.tokens++
	return m.record(event{at: at, what: "transferred", resource: c.resource, id: cmp.Or(c.proposed, made), holder: c.to,
		token: m.tokens, metadata: c.metadata})
}

func (m *replayModel) breakLease(at machine.Time, c call, s leaseView) answer {
	if no := s.notAlive(at); no != "" {
		return answer(no)
	}
	e := event{at: at, what: "broken", resource: c.resource}
	if c.period != nil {
		e.length = *c.period
	}
	return m.record(e)
}
