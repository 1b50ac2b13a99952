package machine_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// grants keeps who was promised what until when. It believes requests and
// answers only, never a row's state or end, so it notices a machine that
// contradicts itself.
type grants map[string][]claim

// claim is the promise of one grant: exclusive from one moment until another.
type claim struct {
	token       uint64
	ttl         time.Duration
	from, until machine.Time
}

// record adds a successful operation.
func (g grants) record(t *rapid.T, s *smallStore, c call, before machine.Row, o machine.Outcome) {
	if o.Reason != "" {
		return
	}
	switch {
	case c.verb == "transfer" && o.Granted:
		g.transfer(t, s, c, o)
	case o.Granted:
		g.open(t, s, c, before, o)
	case c.verb == "renew", c.verb == "acquire":
		g.extend(t, s, c)
	case c.verb == "release", c.verb == "force":
		g.cut(c.resource, s.now.Clock)
	case c.verb == "break":
		g.cut(c.resource, breakEnd(s, c, o))
	}
}

func (g grants) open(t *rapid.T, s *smallStore, c call, before machine.Row, o machine.Outcome) {
	ttl := c.ttl
	if ttl == 0 { // a revival keeps the ttl it had
		ttl = before.TTL
	}
	if last := g.last(c.resource); last.until > s.now.Clock || last.token >= o.Row.Token {
		t.Fatalf("%s granted token %d on %s while token %d was promised until %d; it is %d",
			c.verb, o.Row.Token, c.resource, last.token, last.until, s.now.Clock)
	}
	g[c.resource] = append(g[c.resource], claim{o.Row.Token, ttl, s.now.Clock, endAt(s, ttl)})
}

func (g grants) transfer(t *rapid.T, s *smallStore, c call, o machine.Outcome) {
	last := g.last(c.resource)
	if last.until <= s.now.Clock {
		t.Fatalf("transfer of token %d on %s, which ended at %d; it is %d", last.token, c.resource, last.until, s.now.Clock)
	}
	g.cut(c.resource, s.now.Clock)
	g[c.resource] = append(g[c.resource], claim{o.Row.Token, last.ttl, s.now.Clock, last.until})
}

func (g grants) extend(t *rapid.T, s *smallStore, c call) {
	last := g.last(c.resource)
	if last.until <= s.now.Clock {
		t.Fatalf("%s extended token %d on %s, which ended at %d; it is %d", c.verb, last.token, c.resource, last.until, s.now.Clock)
	}
	if c.ttl != 0 {
		last.ttl = c.ttl
	}
	last.until = endAt(s, last.ttl)
	g[c.resource][len(g[c.resource])-1] = last
}

// cut ends the newest claim at the given time, or leaves it if it ends before.
func (g grants) cut(resource string, at machine.Time) {
	if claims := g[resource]; len(claims) > 0 {
		last := &claims[len(claims)-1]
		last.until = min(last.until, at)
	}
}

func (g grants) last(resource string) claim {
	if claims := g[resource]; len(claims) > 0 {
		return claims[len(claims)-1]
	}
	return claim{}
}

func endAt(s *smallStore, ttl time.Duration) machine.Time {
	if ttl == leasehold.Infinite {
		return machine.Never
	}
	return s.now.Clock + machine.Time(ttl)
}

// breakEnd is the latest moment at which a break may end. Only Azure's break
// without a period takes the lease's own end, if it has one.
func breakEnd(s *smallStore, c call, o machine.Outcome) machine.Time {
	switch {
	case c.period != nil:
		return endAt(s, *c.period)
	case s.policy[c.resource].BreakDrains && o.Row.State == leasehold.StateBreaking:
		return machine.Never - 1
	}
	return s.now.Clock
}

// checkStanding compares every row with what was promised: at any moment at
// most one claim holds.
func checkStanding(t *rapid.T, s *smallStore, promised grants) {
	for _, name := range s.resources() {
		row, last := s.rows[name].At(s.now), promised.last(name)
		if promised := last.until > s.now.Clock; row.State.Locked() != promised {
			t.Fatalf("%s is %s, but promised until %d; it is %d", name, row.State, last.until, s.now.Clock)
		}
		if row.State.Locked() && (row.Token != last.token || row.Ends != last.until) {
			t.Fatalf("%s is held by token %d until %d, but promised to %d until %d", name, row.Token, row.Ends, last.token, last.until)
		}
		checkClaims(t, name, promised[name])
	}
}

func checkClaims(t *rapid.T, resource string, claims []claim) {
	for i := 1; i < len(claims); i++ {
		if a, b := claims[i-1], claims[i]; a.until > b.from || a.token >= b.token {
			t.Fatalf("%s was promised twice: token %d until %d, token %d from %d", resource, a.token, a.until, b.token, b.from)
		}
	}
}
