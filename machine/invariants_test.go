package machine_test

import (
	"maps"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TestInvariants runs random operations, many of them with wrong ids, holders
// and tokens, over resources of both policies, and checks after each what must
// hold whatever happens.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newSmallStore(map[string]machine.Policy{
			"s1": machine.Standard, "s2": machine.Standard, "a1": machine.Azure, "a2": machine.Azure,
		})
		promised := grants{}
		actions := map[string]func(*rapid.T){"wait": s.wait, "": func(t *rapid.T) { checkStanding(t, s, promised) }}
		for _, verb := range verbs {
			actions[verb] = func(t *rapid.T) { step(t, s, promised, s.anyCall(t, verb)) }
		}
		t.Repeat(actions)
	})
}

// step carries one operation out and checks all that must be true of it.
func step(t *rapid.T, s *smallStore, promised grants, c call) {
	before := s.rows[c.resource]
	o := runPurely(t, c, before, s.known(c.proposed))
	for _, check := range []func(*smallStore, call, machine.Row, machine.Outcome) string{
		chainHolds, refusalIsIdle, timeEndsAll, tokensGrow, identityHolds, breakShortens, limitHolds, guardSpares,
	} {
		if problem := check(s, c, before, o); problem != "" {
			t.Fatalf("%s on %s, which was %s: %s", c.verb, c.resource, before.At(s.now).State, problem)
		}
	}
	promised.record(t, s, c, before, o)
	s.apply(o)
}

// runPurely runs the operation twice. Both must answer the same, and nothing
// that went in may have changed.
func runPurely(t *rapid.T, c call, row machine.Row, known *machine.Row) machine.Outcome {
	rowBefore, sent := clone(row), maps.Clone(c.metadata)
	var knownBefore *machine.Row
	if known != nil {
		knownBefore = new(clone(*known))
	}
	o := c.run(row, known)
	if again := c.run(row, known); !reflect.DeepEqual(o, again) {
		t.Fatalf("%s answers differently to the same question", c.verb)
	}
	if !reflect.DeepEqual(row, rowBefore) || !reflect.DeepEqual(known, knownBefore) || !reflect.DeepEqual(c.metadata, sent) {
		t.Fatalf("%s changed what it was given", c.verb)
	}
	return o
}

func clone(r machine.Row) machine.Row {
	r.Metadata = maps.Clone(r.Metadata)
	return r
}

func chainHolds(_ *smallStore, _ call, before machine.Row, o machine.Outcome) string {
	return brokenChain(before, o)
}

// refusalIsIdle: a refusal writes nothing but what time has done.
func refusalIsIdle(s *smallStore, _ call, before machine.Row, o machine.Outcome) string {
	if o.Reason == "" {
		return ""
	}
	if o.Granted {
		return "refused and granted"
	}
	if !reflect.DeepEqual(o.Steps, machine.Expire(s.now, before).Steps) || !reflect.DeepEqual(o.Row, before.At(s.now)) {
		return "refused with " + string(o.Reason) + " and changed something"
	}
	return ""
}

// timeEndsAll: nothing that is written down is locked at or past its end.
func timeEndsAll(s *smallStore, _ call, _ machine.Row, o machine.Outcome) string {
	for _, step := range o.Steps {
		if step.Row.State.Locked() && step.Row.Ends <= s.now.Clock {
			return "wrote a row that is " + step.Row.State.String() + " past its end"
		}
	}
	return ""
}

// tokensGrow: every grant uses the next token, nothing else does, and what has
// ended lives only under a new one.
func tokensGrow(s *smallStore, _ call, before machine.Row, o machine.Outcome) string {
	was, is := before.At(s.now), o.Row
	forgotten := is.State == leasehold.StateAvailable
	switch {
	case o.Granted && (is.Token != s.token+1 || is.State != leasehold.StateActive):
		return "a grant without the next token, or not active"
	case !o.Granted && is.Token != was.Token && !forgotten:
		return "no grant, and another token"
	case is.State.Locked() && !was.State.Locked() && !o.Granted:
		return "what had ended lives again under its old token"
	case !o.Granted && !forgotten && is.Holder != was.Holder:
		return "another holder under the old token"
	}
	return ""
}

// identityHolds: a wrong id, holder or token changes nothing.
func identityHolds(s *smallStore, c call, before machine.Row, o machine.Outcome) string {
	if !c.needsID() {
		return ""
	}
	right := c.id == before.ID && !c.id.IsZero() &&
		(c.holder == "" || c.holder == before.Holder) && (c.token == 0 || c.token == before.Token)
	if right {
		return ""
	}
	if !reflect.DeepEqual(o.Row, before.At(s.now)) || o.Granted {
		return "done for a caller who showed the wrong id, holder or token"
	}
	if o.Reason == "" && !o.Idempotent {
		return "a yes for a caller who showed the wrong id, holder or token"
	}
	return ""
}

func breakShortens(_ *smallStore, c call, before machine.Row, o machine.Outcome) string {
	if c.verb == "break" && o.Row.Ends > before.Ends {
		return "the break lengthened the lease"
	}
	return ""
}

func limitHolds(_ *smallStore, _ call, _ machine.Row, o machine.Outcome) string {
	if o.Row.MaxRenewals != leasehold.Unlimited && o.Row.Renewals > o.Row.MaxRenewals {
		return "renewed beyond its limit"
	}
	return ""
}

// guardSpares: a guarded request never changes a lease that holds; an ended one
// it leaves or forgets altogether.
func guardSpares(s *smallStore, c call, before machine.Row, o machine.Outcome) string {
	was := before.At(s.now)
	if c.verb != "guard" || reflect.DeepEqual(o.Row, was) {
		return ""
	}
	if was.State.Locked() || !reflect.DeepEqual(o.Row, machine.Row{Resource: c.resource}) {
		return "the guard changed what it guards"
	}
	return ""
}
