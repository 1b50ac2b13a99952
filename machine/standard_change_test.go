package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// changeTable says what a change answers; the names are those of renewTable and
// acquireTable. "F→A changed" is a change that was carried out before and whose
// answer was lost.
const changeTable = `
change              | available       | active                         | breaking        | released        | expired         | broken
A→B                 | lease_not_found | active(B) same kept changed    | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→B, wrong holder   | lease_not_found | holder_mismatch                | holder_mismatch | holder_mismatch | holder_mismatch | holder_mismatch
A→B, wrong token    | lease_not_found | token_mismatch                 | token_mismatch  | token_mismatch  | token_mismatch  | token_mismatch
A→A                 | lease_not_found | active(A) same kept - again    | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→A, wrong holder   | lease_not_found | holder_mismatch                | holder_mismatch | holder_mismatch | holder_mismatch | holder_mismatch
A→A, wrong token    | lease_not_found | token_mismatch                 | token_mismatch  | token_mismatch  | token_mismatch  | token_mismatch
A→F changed         | lease_not_found | lease_released                 | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→F handed          | lease_not_found | lease_released                 | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→L                 | lease_not_found | lease_id_in_use                | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→R                 | lease_not_found | lease_released                 | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→E                 | lease_not_found | lease_expired                  | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→K                 | lease_not_found | lease_broken                   | lease_breaking  | lease_released  | lease_expired   | lease_broken
A→G                 | lease_not_found | lease_released                 | lease_breaking  | lease_released  | lease_expired   | lease_broken
B→A ±               | lease_not_found | lease_not_found                | lease_not_found | lease_not_found | lease_not_found | lease_not_found
B→C ±               | lease_not_found | lease_not_found                | lease_not_found | lease_not_found | lease_not_found | lease_not_found
none→A ±            | lease_not_found | lease_not_found                | lease_not_found | lease_not_found | lease_not_found | lease_not_found
none→B ±            | lease_not_found | lease_not_found                | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F→A changed         | lease_not_found | active(A) same kept - again    | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F→A changed, wrong holder | lease_not_found | holder_mismatch          | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F→A changed, wrong token  | lease_not_found | token_mismatch           | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F→B changed ±       | lease_not_found | lease_not_found                | lease_not_found | lease_not_found | lease_not_found | lease_not_found
F→A handed ±        | lease_not_found | lease_released                 | lease_released  | lease_released  | lease_released  | lease_released
F→B handed ±        | lease_not_found | lease_released                 | lease_released  | lease_released  | lease_released  | lease_released
`

func TestChangeTable(t *testing.T) {
	readTable(t, changeTable).each(t, variants, func(t *testing.T, change string, f variant, cell string) {
		eachChange(change, f, func(f variant, p proof, to string) {
			r := leasehold.ChangeRequest{ID: p.id, Holder: p.holder, Token: p.token, Proposed: ids[to]}
			o := machine.Change(now, r, f.row, knownBy(f.row, to), machine.Standard)
			verifyCell(t, f, o, cell)
			if o.Reason == "" && !o.Idempotent {
				verifyChanged(t, f.row, o.Row)
			}
		})
	})
}

// verifyChanged checks that a change swaps the id, remembers the old one for a
// repetition, and touches nothing else.
func verifyChanged(t *testing.T, before, after machine.Row) {
	t.Helper()
	want := before
	want.ID, want.Former, want.Handed = ids["B"], ids["A"], false
	verifyRow(t, want, after)
}

func verifyRow(t *testing.T, want, got machine.Row) {
	t.Helper()
	if diff := cmp.Diff(want, got, idsByName); diff != "" {
		t.Errorf("the row is another (-want +got):\n%s", diff)
	}
}

// TestChangeTwice: only the id just before is remembered.
func TestChangeTwice(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	change := func(from, to string) machine.Outcome {
		o := machine.Change(now, leasehold.ChangeRequest{ID: ids[from], Proposed: ids[to]}, row, knownBy(row, to), machine.Standard)
		row = o.Row
		return o
	}
	for _, tt := range []struct {
		from, to string
		want     string
	}{
		{"A", "B", "active(B) same kept changed"},
		{"A", "B", "active(B) same kept - again"},
		{"A", "C", "lease_not_found"},
		{"B", "C", "active(C) same kept changed"},
		{"A", "B", "lease_not_found"},
		{"B", "C", "active(C) same kept - again"},
		{"C", "B", "lease_released"}, // it was given up just now
		{"C", "A", "active(A) same kept changed"},
	} {
		f := variant{row: row}
		verifyCell(t, f, change(tt.from, tt.to), tt.want)
	}
}

// TestChangeAfterTransfer: a change takes the place of the transfer in the
// row's memory; the handed id is then simply not known.
func TestChangeAfterTransfer(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	row.Former, row.Handed = ids["F"], true
	o := machine.Change(now, leasehold.ChangeRequest{ID: ids["A"], Proposed: ids["B"]}, row, nil, machine.Standard)
	verifyChanged(t, row, o.Row)
	verifyRefusal(t, o.Row, machine.Renew(now, leasehold.RenewRequest{ID: ids["F"]}, fresh, o.Row, machine.Standard), leasehold.ReasonNotFound)
}
