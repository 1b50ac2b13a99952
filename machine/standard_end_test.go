package machine_test

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// releaseTable says what a release answers; the names are those of renewTable.
const releaseTable = `
release with    | available       | active                         | breaking                       | released        | expired         | broken
A               | lease_not_found | released(A) same over released | released(A) same over released | lease_released  | lease_expired   | lease_broken
A, wrong holder | lease_not_found | holder_mismatch                | holder_mismatch                | holder_mismatch | holder_mismatch | holder_mismatch
A, wrong token  | lease_not_found | token_mismatch                 | token_mismatch                 | token_mismatch  | token_mismatch  | token_mismatch
B ±             | lease_not_found | lease_not_found                | lease_not_found                | lease_not_found | lease_not_found | lease_not_found
F changed ±     | lease_not_found | lease_not_found                | lease_not_found                | lease_not_found | lease_not_found | lease_not_found
F handed ±      | lease_not_found | lease_released                 | lease_released                 | lease_released  | lease_released  | lease_released
none ±          | lease_not_found | lease_not_found                | lease_not_found                | lease_not_found | lease_not_found | lease_not_found
`

func TestReleaseTable(t *testing.T) {
	readTable(t, releaseTable).each(t, variants, func(t *testing.T, with string, f variant, cell string) {
		eachProof(with, f, func(f variant, p proof) {
			r := leasehold.ReleaseRequest{ID: p.id, Holder: p.holder, Token: p.token, Why: "done"}
			o := machine.Release(now, r, f.row, machine.Standard)
			verifyCell(t, f, o, cell)
			verifyEnding(t, f.row, o, "done")
		})
	})
}

// breakTable says what a break answers, without a period, with none to wait,
// with one that ends before the lease and one that ends after it. It needs no
// id. Only "break 20s" shortens a lease that is breaking for another 25 s.
const breakTable = `
break          | available       | active                             | breaking                        | released       | expired       | broken
without period | lease_not_found | broken(A) same over broken         | broken(A) same over broken      | lease_released | lease_expired | lease_broken
0s             | lease_not_found | broken(A) same over broken         | broken(A) same over broken      | lease_released | lease_expired | lease_broken
20s            | lease_not_found | breaking(A) same min(20s) breaking | breaking(A) same 20s breaking   | lease_released | lease_expired | lease_broken
25s            | lease_not_found | breaking(A) same min(25s) breaking | breaking(A) same kept -         | lease_released | lease_expired | lease_broken
60s            | lease_not_found | breaking(A) same min(60s) breaking | breaking(A) same kept -         | lease_released | lease_expired | lease_broken
`

func TestBreakTable(t *testing.T) {
	readTable(t, breakTable).each(t, variants, func(t *testing.T, after string, f variant, cell string) {
		r := leasehold.BreakRequest{Resource: resource, Why: "maintenance"}
		if after != "without period" {
			r.Period = period(parseTime(after))
		}
		o := machine.Break(now, r, f.row, machine.Standard)
		verifyCell(t, f, o, cell)
		verifyEnding(t, f.row, o, "maintenance")
	})
}

// TestBreakRunsOut: what breaks ends as broken at its time, not as expired,
// also where the lease's own end came first.
func TestBreakRunsOut(t *testing.T) {
	for _, n := range []time.Duration{10 * time.Second, left, 60 * time.Second} {
		row := rowIn(leasehold.StateActive, left)
		o := machine.Break(now, leasehold.BreakRequest{Period: &n}, row, machine.Standard)
		end := machine.Instant{Clock: now.Clock + machine.Time(min(n, left))}
		justBefore := machine.Instant{Clock: end.Clock - 1}
		if got := o.Row.At(justBefore).State; got != leasehold.StateBreaking {
			t.Errorf("Break(%v), then just before its end: %v, want breaking", n, got)
		}
		if got := o.Row.At(end).State; got != leasehold.StateBroken {
			t.Errorf("Break(%v), then at its end: %v, want broken", n, got)
		}
	}
}

// forceTable says what a force-release of the row answers.
const forceTable = `
force  | available       | active                               | breaking                             | released       | expired       | broken
release | lease_not_found | released(A) same over force_released | released(A) same over force_released | lease_released | lease_expired | lease_broken
`

func TestForceReleaseTable(t *testing.T) {
	readTable(t, forceTable).each(t, variants, func(t *testing.T, _ string, f variant, cell string) {
		o := machine.ForceRelease(now, f.row, "operator")
		verifyCell(t, f, o, cell)
		verifyEnding(t, f.row, o, "operator")
	})
}

// verifyEnding checks that the reason given is in the history and that nothing
// but state and end has changed: a row remembers its last lease.
func verifyEnding(t *testing.T, before machine.Row, o machine.Outcome, why string) {
	t.Helper()
	if o.Reason != "" || recordWord(before, o) == "-" {
		return
	}
	if got := o.Steps[len(o.Steps)-1].Why; got != why {
		t.Errorf("the record's reason is %q, want %q", got, why)
	}
	if !o.Row.State.Locked() && o.Row.Ends != now.Clock {
		t.Errorf("it ended %v from now, want now", time.Duration(o.Row.Ends-now.Clock))
	}
	same := before
	same.State, same.Ends = o.Row.State, o.Row.Ends
	verifyRow(t, same, o.Row)
}
