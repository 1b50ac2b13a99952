package machine_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TestNaiveModelAgrees runs the machine and the naive model side by side: every
// answer must be the same, and after it every resource must stand the same.
func TestNaiveModelAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(map[string]machine.Policy{"r1": machine.Standard, "r2": machine.Standard, "r3": machine.Standard})
		m := &naive{}
		actions := map[string]func(*rapid.T){"wait": w.wait, "": func(t *rapid.T) { compareAll(t, w, m) }}
		for _, verb := range standardVerbs() {
			actions[verb] = func(t *rapid.T) { compareCall(t, w, m, w.anyCall(t, verb)) }
		}
		t.Repeat(actions)
	})
}

// standardVerbs leaves out the guard, which only Azure has.
func standardVerbs() []string {
	return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return v == "guard" })
}

func compareCall(t *rapid.T, w *world, m *naive, c call) {
	was := w.rows[c.resource].At(w.now)
	if c.verb == "change" && c.proposed.IsZero() {
		return // no request that passes Validate
	}
	o := c.run(w.rows[c.resource], w.known(c.proposed))
	want := m.judge(w.now.Clock, c, w.newID())
	if got := verdictOf(o); got != want {
		t.Fatalf("%s on %s, which was %s: the machine says %q, the naive model %q", c.verb, c.resource, was.State, got, want)
	}
	w.keep(o)
	if w.token != m.tokens {
		t.Fatalf("%s on %s: the machine has used %d tokens, the naive model %d", c.verb, c.resource, w.token, m.tokens)
	}
}

func verdictOf(o machine.Outcome) verdict {
	switch {
	case o.Reason != "":
		return verdict(o.Reason)
	case o.Idempotent:
		return doneBefore
	}
	return done
}

func compareAll(t *rapid.T, w *world, m *naive) {
	for _, name := range w.resources() {
		got, want := standingOf(w.rows[name], w.now), m.tell(name).standing(w.now.Clock)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n machine %+v\n naive   %+v", name, got, want)
		}
	}
}

// standing is everything about a resource that both can be asked for.
type standing struct {
	State, Holder    string
	ID, Former       string // in a form that can be compared and not be used
	Token            uint64
	TTL, Remaining   time.Duration
	Renewals, Limit  int
	Metadata         map[string]string
	Handed, Infinite bool
}

func standingOf(row machine.Row, now machine.Instant) standing {
	l := row.Owned(now)
	return standing{
		State: l.State.String(), Holder: l.Holder, ID: mark(l.ID), Former: mark(row.Former), Token: l.Token,
		TTL: l.TTL, Remaining: max(l.Remaining, 0), Renewals: l.Renewals, Limit: l.MaxRenewals,
		Metadata: l.Metadata, Handed: row.Handed, Infinite: l.Remaining == leasehold.Infinite,
	}
}

func (s story) standing(at machine.Time) standing {
	out := standing{
		State: s.state(at), Holder: s.holder, ID: mark(s.id), Former: mark(s.before), Token: s.token,
		TTL: s.length, Renewals: s.renewals, Limit: s.limit, Metadata: s.metadata, Handed: s.passedOn,
	}
	switch alive := s.notAlive(at) == ""; {
	case alive && s.end == machine.Never:
		out.Infinite = true
	case alive:
		out.Remaining = time.Duration(s.end - at)
	default:
		out.Metadata = nil
	}
	return out
}

// mark shortens a test's id to its number.
func mark(id leasehold.ID) string { return fmt.Sprintf("#%d", int(id[6])<<8|int(id[7])) }
