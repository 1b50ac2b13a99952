package machine_test

import (
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// ledger keeps books about who was promised what for how long. It believes
// requests and answers only, never a row's state or end, so it would notice a
// machine that contradicts itself.
type ledger map[string][]claim

// claim is the promise of one grant: exclusive from one moment until another.
type claim struct {
	token       uint64
	ttl         time.Duration
	from, until machine.Time
}

// enter books a successful operation.
func (l ledger) enter(t *rapid.T, w *world, c call, before machine.Row, o machine.Outcome) {
	if o.Reason != "" {
		return
	}
	switch {
	case c.verb == "transfer" && o.Granted:
		l.handOver(t, w, c, o)
	case o.Granted:
		l.open(t, w, c, before, o)
	case c.verb == "renew", c.verb == "acquire":
		l.extend(t, w, c)
	case c.verb == "release", c.verb == "force":
		l.cut(c.resource, w.now.Clock)
	case c.verb == "break":
		l.cut(c.resource, w.breakEnd(c, o))
	}
}

func (l ledger) open(t *rapid.T, w *world, c call, before machine.Row, o machine.Outcome) {
	ttl := c.ttl
	if ttl == 0 { // a revival keeps the ttl it had
		ttl = before.TTL
	}
	if last := l.last(c.resource); last.until > w.now.Clock || last.token >= o.Row.Token {
		t.Fatalf("%s granted token %d on %s while token %d was promised until %d; it is %d",
			c.verb, o.Row.Token, c.resource, last.token, last.until, w.now.Clock)
	}
	l[c.resource] = append(l[c.resource], claim{o.Row.Token, ttl, w.now.Clock, w.end(ttl)})
}

func (l ledger) handOver(t *rapid.T, w *world, c call, o machine.Outcome) {
	last := l.last(c.resource)
	if last.until <= w.now.Clock {
		t.Fatalf("transfer of token %d on %s, which ended at %d; it is %d", last.token, c.resource, last.until, w.now.Clock)
	}
	l.cut(c.resource, w.now.Clock)
	l[c.resource] = append(l[c.resource], claim{o.Row.Token, last.ttl, w.now.Clock, last.until})
}

func (l ledger) extend(t *rapid.T, w *world, c call) {
	last := l.last(c.resource)
	if last.until <= w.now.Clock {
		t.Fatalf("%s extended token %d on %s, which ended at %d; it is %d", c.verb, last.token, c.resource, last.until, w.now.Clock)
	}
	if c.ttl != 0 {
		last.ttl = c.ttl
	}
	last.until = w.end(last.ttl)
	l[c.resource][len(l[c.resource])-1] = last
}

// cut ends the newest claim at the given time, or leaves it if it ends before.
func (l ledger) cut(resource string, at machine.Time) {
	if claims := l[resource]; len(claims) > 0 {
		last := &claims[len(claims)-1]
		last.until = min(last.until, at)
	}
}

func (l ledger) last(resource string) claim {
	if claims := l[resource]; len(claims) > 0 {
		return claims[len(claims)-1]
	}
	return claim{}
}

func (w *world) end(ttl time.Duration) machine.Time {
	if ttl == leasehold.Infinite {
		return machine.Never
	}
	return w.now.Clock + machine.Time(ttl)
}

// breakEnd is the latest moment at which a break may end. Only Azure's break
// without a period takes the lease's own end, if it has one.
func (w *world) breakEnd(c call, o machine.Outcome) machine.Time {
	switch {
	case c.period != nil:
		return w.end(*c.period)
	case w.policy[c.resource].BreakDrains && o.Row.State == leasehold.StateBreaking:
		return machine.Never - 1
	}
	return w.now.Clock
}

// checkStanding compares every row with the books, and the books with
// themselves: at any moment at most one claim holds.
func checkStanding(t *rapid.T, w *world, books ledger) {
	for _, name := range w.resources() {
		row, last := w.rows[name].At(w.now), books.last(name)
		if promised := last.until > w.now.Clock; row.State.Locked() != promised {
			t.Fatalf("%s is %s, but promised until %d; it is %d", name, row.State, last.until, w.now.Clock)
		}
		if row.State.Locked() && (row.Token != last.token || row.Ends != last.until) {
			t.Fatalf("%s is held by token %d until %d, but promised to %d until %d", name, row.Token, row.Ends, last.token, last.until)
		}
		checkClaims(t, name, books[name])
	}
}

func checkClaims(t *rapid.T, resource string, claims []claim) {
	for i := 1; i < len(claims); i++ {
		if a, b := claims[i-1], claims[i]; a.until > b.from || a.token >= b.token {
			t.Fatalf("%s was promised twice: token %d until %d, token %d from %d", resource, a.token, a.until, b.token, b.from)
		}
	}
}
