package machine_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// call is one operation on one resource, as drawn, and how to carry it out. To
// run it twice must be the same as to run it once: the machine is pure.
type call struct {
	verb     string
	resource string
	proof                 // of renew, release, change and transfer
	proposed leasehold.ID // of acquire, change and transfer
	ttl      time.Duration
	period   *time.Duration
	most     int
	to       string // the holder of an acquire, the next one of a transfer
	metadata map[string]string
	write    machine.Access

	run func(row machine.Row, known *machine.Row) machine.Outcome
}

// needsID reports whether the operation is only for who shows the right id.
func (c call) needsID() bool {
	switch c.verb {
	case "renew", "release", "change", "transfer":
		return true
	}
	return false
}

// anyCall draws an operation of the given kind.
func (s *smallStore) anyCall(t *rapid.T, verb string) call {
	c := call{verb: verb, resource: rapid.SampledFrom(s.resources()).Draw(t, "resource")}
	row := s.rows[c.resource]
	switch verb {
	case "acquire":
		s.drawAcquire(t, &c, row)
	case "renew":
		c.proof, c.ttl = s.anyProof(t, row), anyTTL(t, 0, 0)
	case "release", "guard":
		c.proof = s.anyProof(t, row)
		c.write = machine.Access(rapid.Bool().Draw(t, "write"))
	case "repeat":
		c = s.repeatLast(t, c)
	case "change":
		c.proof, c.proposed = s.anyProof(t, row), s.anyID(t, row, "proposed")
	case "transfer":
		c.proof, c.proposed = s.anyProof(t, row), s.anyID(t, row, "proposed")
		c.to, c.metadata = rapid.SampledFrom(holders).Draw(t, "to"), anyMetadata(t)
	case "break":
		c.period = rapid.SampledFrom([]*time.Duration{nil, period(0), period(time.Second), period(time.Minute)}).Draw(t, "period")
	}
	if c.verb == "change" || c.verb == "transfer" {
		s.last = c
	}
	c.run = s.runner(c)
	return c
}

// repeatLast is the last change or transfer over again, as after a lost answer,
// or with one thing about it changed, as no honest caller would send it.
func (s *smallStore) repeatLast(t *rapid.T, none call) call {
	c, row := s.last, s.rows[s.last.resource]
	if c.verb == "" {
		none.verb = "expire"
		return none
	}
	switch rapid.SampledFrom([]string{"nothing", "nothing", "proposed", "id", "to", "proof"}).Draw(t, "altered") {
	case "proposed":
		c.proposed = s.anyID(t, row, "proposed")
	case "id":
		c.id = s.anyID(t, row, "id")
	case "to":
		c.to = rapid.SampledFrom(holders).Draw(t, "to")
	case "proof":
		p := s.anyProof(t, row)
		c.holder, c.token = p.holder, p.token
	}
	return c
}

func (s *smallStore) drawAcquire(t *rapid.T, c *call, row machine.Row) {
	c.proposed, c.ttl = s.anyID(t, row, "proposed"), anyTTL(t)
	c.most = rapid.SampledFrom([]int{leasehold.Unlimited, 0, 1, 3}).Draw(t, "max renewals")
	c.to = rapid.SampledFrom(append([]string{row.Holder, row.Holder}, holders...)).Draw(t, "holder")
	if c.to == "" {
		c.to = holders[0]
	}
	c.metadata = anyMetadata(t)
}

func (s *smallStore) runner(c call) func(machine.Row, *machine.Row) machine.Outcome {
	now, fresh, p := s.now, s.fresh(), s.policy[c.resource]
	return func(row machine.Row, known *machine.Row) machine.Outcome {
		switch c.verb {
		case "acquire":
			return machine.Acquire(now, c.acquire(), fresh, []machine.Row{row}, known, p)
		case "renew":
			return machine.Renew(now, leasehold.RenewRequest{ID: c.id, Holder: c.holder, Token: c.token, TTL: c.ttl}, fresh, row, p)
		case "release":
			return machine.Release(now, leasehold.ReleaseRequest{ID: c.id, Holder: c.holder, Token: c.token}, row, p)
		case "change":
			return machine.Change(now, leasehold.ChangeRequest{ID: c.id, Holder: c.holder, Token: c.token, Proposed: c.proposed}, row, known, p)
		case "transfer":
			return machine.Transfer(now, c.transfer(), fresh, row, known, p)
		case "break":
			return machine.Break(now, leasehold.BreakRequest{Resource: c.resource, Period: c.period}, row, p)
		case "force":
			return machine.ForceRelease(now, row, "operator")
		case "guard":
			return machine.Guard(now, c.id, c.write, row)
		case "expire":
			return machine.Expire(now, row)
		}
		panic("no such verb: " + c.verb)
	}
}

func (c call) acquire() leasehold.AcquireRequest {
	return leasehold.AcquireRequest{
		Resource: c.resource, Holder: c.to, ID: c.proposed, TTL: c.ttl, MaxRenewals: &c.most, Metadata: c.metadata,
	}
}

func (c call) transfer() leasehold.TransferRequest {
	return leasehold.TransferRequest{
		ID: c.id, Holder: c.holder, Token: c.token, To: c.to, Proposed: c.proposed, Metadata: c.metadata,
	}
}

// verbs are all operations of the machine, and the repetition of one.
var verbs = []string{"acquire", "renew", "release", "change", "transfer", "repeat", "break", "force", "guard", "expire"}
