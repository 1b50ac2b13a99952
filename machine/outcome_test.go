package machine_test

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// verifyRefusal checks that a refusal does what refusals do: nothing, apart
// from writing down what time has done already.
func verifyRefusal(t *testing.T, before machine.Row, o machine.Outcome, want leasehold.Reason) {
	t.Helper()
	if o.Reason != want {
		t.Fatalf("reason %q, want %q (the row is now %s)", o.Reason, want, o.Row.State)
	}
	if o.Granted {
		t.Errorf("refused with %q and granted all the same", o.Reason)
	}
	expired := machine.Expire(now, before)
	if diff := cmp.Diff(expired.Row, o.Row, idsByName); diff != "" {
		t.Errorf("refused with %q and changed the row (-want +got):\n%s", o.Reason, diff)
	}
	if diff := cmp.Diff(expired.Steps, o.Steps, idsByName); diff != "" {
		t.Errorf("refused with %q and left other records than time alone (-want +got):\n%s", o.Reason, diff)
	}
}

// verifySteps checks that the steps begin with what time has done and hang
// together from there.
func verifySteps(t *testing.T, before machine.Row, o machine.Outcome) {
	t.Helper()
	for i, s := range machine.Expire(now, before).Steps {
		if len(o.Steps) <= i || !reflect.DeepEqual(o.Steps[i], s) {
			t.Fatalf("step %d is not the %q that had fallen due", i, s.Kind)
		}
	}
	if problem := brokenChain(before, o); problem != "" {
		t.Error(problem)
	}
}

// brokenChain says what is wrong with the steps of an operation on one row.
func brokenChain(before machine.Row, o machine.Outcome) string {
	at := before
	for _, s := range o.Steps {
		if s.Before != at.State {
			return "a step begins in " + s.Before.String() + ", after one that ended in " + at.State.String()
		}
		if s.Row.Resource != before.Resource {
			return "a step is about another resource, " + s.Row.Resource
		}
		at = s.Row
	}
	answered := o.Row
	if len(o.Steps) > 0 && !answered.State.Locked() {
		answered.Metadata = nil // for the answer that ended the lease, not for the row
	}
	if !reflect.DeepEqual(at, answered) {
		return "the last step's row is not the outcome's"
	}
	return ""
}

// idsByName makes differences readable: ids do not print.
var idsByName = cmp.Transformer("name", nameOf)

func TestExpire(t *testing.T) {
	for _, tt := range []struct {
		state   string
		variant string
		want    leasehold.State
		kind    leasehold.Kind // empty: nothing to write
	}{
		{"available", "never leased", leasehold.StateAvailable, ""},
		{"active", "fixed", leasehold.StateActive, ""},
		{"active", "infinite", leasehold.StateActive, ""},
		{"active", "last nanosecond", leasehold.StateActive, ""},
		{"breaking", "fixed", leasehold.StateBreaking, ""},
		{"released", "written", leasehold.StateReleased, ""},
		{"expired", "written", leasehold.StateExpired, ""},
		{"expired", "due", leasehold.StateExpired, leasehold.KindExpired},
		{"expired", "due this instant", leasehold.StateExpired, leasehold.KindExpired},
		{"broken", "written", leasehold.StateBroken, ""},
		{"broken", "due", leasehold.StateBroken, leasehold.KindBroken},
		{"broken", "due this instant", leasehold.StateBroken, leasehold.KindBroken},
	} {
		t.Run(tt.state+"/"+tt.variant, func(t *testing.T) {
			verifyExpire(t, variantOf(t, tt.state, tt.variant), tt.want, tt.kind)
		})
	}
}

func verifyExpire(t *testing.T, row machine.Row, want leasehold.State, kind leasehold.Kind) {
	t.Helper()
	after := row
	after.State = want
	if !want.Locked() {
		after.Metadata = nil
	}
	wanted := machine.Outcome{Row: after}
	if kind != "" {
		wanted.Steps = []machine.Step{{Row: after, Before: row.State, Kind: kind}}
	}
	if diff := cmp.Diff(wanted, machine.Expire(now, row), idsByName); diff != "" {
		t.Errorf("Expire(a row in %s) is other than wanted (-want +got):\n%s", row.State, diff)
	}
}

func variantOf(t *testing.T, state, name string) machine.Row {
	t.Helper()
	for _, f := range variants(t, state) {
		if f.name == name {
			return f.row
		}
	}
	t.Fatalf("no variant %q of %q", name, state)
	return machine.Row{}
}
