package machine_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// guardTable is the table of guarded writes and reads, cell by cell. Azure
// answers 412 with LeaseNotPresentWith…, LeaseIdMismatchWith… or
// LeaseIdMissing; the machine's reasons are their plain names, and whether it
// was a blob or a container is for the API to say.
const guardTable = `
request          | available         | leased(A)         | breaking(A)       | broken(A)         | expired(A)
write with A     | lease_not_present | ok                | ok                | lease_not_present | lease_not_present
write with B     | lease_not_present | lease_id_mismatch | lease_id_mismatch | lease_not_present | lease_not_present
write without id | ok                | lease_id_missing  | lease_id_missing  | ok, available     | ok, available
read with A      | lease_not_present | ok                | ok                | lease_not_present | lease_not_present
read with B      | lease_not_present | lease_id_mismatch | lease_id_mismatch | lease_not_present | lease_not_present
read without id  | ok                | ok                | ok                | ok                | ok
`

func TestGuardTable(t *testing.T) {
	p := readTable(t, guardTable)
	if got, want := p.count(), 6*5; got != want {
		t.Fatalf("the table has %d cells, want %d", got, want)
	}
	p.each(t, variants, func(t *testing.T, request string, f variant, cell string) {
		verb, rest, _ := strings.Cut(request, " ")
		id := ids[strings.TrimPrefix(rest, "with ")] // "without id" is nobody's name
		o := machine.Guard(now, id, machine.Access(verb == "write"), f.row)
		verifyGuard(t, f.row, o, cell)
		if want := rest == "with A" && f.row.ID == id; o.SameID != want {
			t.Errorf("SameID = %t, want %t", o.SameID, want)
		}
	})
}

func verifyGuard(t *testing.T, before machine.Row, o machine.Outcome, cell string) {
	t.Helper()
	switch cell {
	case "ok":
		verifyRefusal(t, before, o, "") // it changes as little as one
	case "ok, available":
		verifyForgotten(t, before, o)
	default:
		verifyRefusal(t, before, o, leasehold.Reason(cell))
	}
}

// verifyForgotten checks that nothing is left of the old lease, and that no
// record tells of it: a write of a blob is no event of a lease.
func verifyForgotten(t *testing.T, before machine.Row, o machine.Outcome) {
	t.Helper()
	if o.Reason != "" || o.Granted || o.Idempotent {
		t.Errorf("reason %q, granted %t, idempotent %t; want a plain yes", o.Reason, o.Granted, o.Idempotent)
	}
	if diff := cmp.Diff(machine.Row{Resource: before.Resource}, o.Row, idsByName); diff != "" {
		t.Errorf("the row is not available (-want +got):\n%s", diff)
	}
	verifySteps(t, before, o)
	if got := recordWord(before, o); got != "" {
		t.Errorf("the write left %q in the history, want a silent step", got)
	}
}

// TestGuardReleased: a released lease guards nothing, and a write forgets it.
func TestGuardReleased(t *testing.T) {
	row := rowIn(leasehold.StateReleased, -agoEnded)
	verifyRefusal(t, row, machine.Guard(now, ids["A"], machine.Write, row), leasehold.ReasonNotPresent)
	verifyRefusal(t, row, machine.Guard(now, ids["B"], machine.Read, row), leasehold.ReasonNotPresent)
	verifyRefusal(t, row, machine.Guard(now, leasehold.ID{}, machine.Read, row), "")
	verifyForgotten(t, row, machine.Guard(now, leasehold.ID{}, machine.Write, row))
}
