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

// TestReplayModelAgrees runs the machine and the model side by side: every
// answer must be the same, and after it every resource must stand the same.
func TestReplayModelAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSmallStore(map[string]machine.Policy{"r1": machine.Standard, "r2": machine.Standard, "r3": machine.Standard})
		m := &replayModel{}
		actions := map[string]func(*rapid.T){"wait": s.wait, "": func(t *rapid.T) { compareAll(t, s, m) }}
		for _, verb := range standardVerbs() {
			actions[verb] = func(t *rapid.T) { compareCall(t, s, m, s.anyCall(t, verb)) }
		}
		t.Repeat(actions)
	})
}

// standardVerbs leaves out the guard, which only Azure has.
func standardVerbs() []string {
	return slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return v == "guard" })
}

func compareCall(t *rapid.T, s *smallStore, m *replayModel, c call) {
	was := s.rows[c.resource].At(s.now)
	if c.verb == "change" && c.proposed.IsZero() {
		return // no request that passes Validate
	}
	o := c.run(s.rows[c.resource], s.known(c.proposed))
	want := m.decide(s.now.Clock, c, s.newID())
	if got := answerOf(o); got != want {
		t.Fatalf("%s on %s, which was %s: the machine says %q, the model %q", c.verb, c.resource, was.State, got, want)
	}
	s.apply(o)
	if s.token != m.tokens {
		t.Fatalf("%s on %s: the machine has used %d tokens, the model %d", c.verb, c.resource, s.token, m.tokens)
	}
}

func answerOf(o machine.Outcome) answer {
	switch {
	case o.Reason != "":
		return answer(o.Reason)
	case o.Idempotent:
		return doneBefore
	}
	return done
}

func compareAll(t *rapid.T, s *smallStore, m *replayModel) {
	for _, name := range s.resources() {
		got, want := standingOf(s.rows[name], s.now), m.replay(name).standing(s.now.Clock)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%s:\n machine %+v\n model   %+v", name, got, want)
		}
	}
}

// standing is everything about a resource that both can be asked for.
type standing struct {
	State, Holder    string
	ID, Former       string // in a variant that can be compared and not be used
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

func (s leaseView) standing(at machine.Time) standing {
	out := standing{
		State: s.state(at), Holder: s.holder, ID: mark(s.id), Former: mark(s.before), Token: s.token,
		TTL: s.length, Renewals: s.renewals, Limit: s.limit, Metadata: s.metadata, Handed: s.transferred,
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
