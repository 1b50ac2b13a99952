package machine_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// transferTable says what a transfer from ann to bob answers; the names are
// those of changeTable. "Same holder" is a transfer from ann to ann. A repeated
// transfer, "F→… handed", finds the lease with bob already, under the id A.
const transferTable = `
transfer            | available       | active                            | breaking         | released         | expired          | broken
A→none              | lease_not_found | active(X) new kept transferred    | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→B                 | lease_not_found | active(B) new kept transferred    | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→B, wrong holder   | lease_not_found | holder_mismatch                   | holder_mismatch  | holder_mismatch  | holder_mismatch  | holder_mismatch
A→B, wrong token    | lease_not_found | token_mismatch                    | token_mismatch   | token_mismatch   | token_mismatch   | token_mismatch
A→B, same holder    | lease_not_found | invalid_argument                  | invalid_argument | invalid_argument | invalid_argument | invalid_argument
A→A                 | lease_not_found | lease_id_in_use                   | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→F changed         | lease_not_found | lease_released                    | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→F handed          | lease_not_found | lease_released                    | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→L                 | lease_not_found | lease_id_in_use                   | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→R                 | lease_not_found | lease_released                    | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→E                 | lease_not_found | lease_expired                     | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→K                 | lease_not_found | lease_broken                      | lease_breaking   | lease_released   | lease_expired    | lease_broken
A→G                 | lease_not_found | lease_released                    | lease_breaking   | lease_released   | lease_expired    | lease_broken
B→none ±            | lease_not_found | lease_not_found                   | lease_not_found  | lease_not_found  | lease_not_found  | lease_not_found
B→A ±               | lease_not_found | lease_not_found                   | lease_not_found  | lease_not_found  | lease_not_found  | lease_not_found
B→C ±               | lease_not_found | lease_not_found                   | lease_not_found  | lease_not_found  | lease_not_found  | lease_not_found
none→B ±            | lease_not_found | lease_not_found                   | lease_not_found  | lease_not_found  | lease_not_found  | lease_not_found
F→A changed ±       | lease_not_found | lease_not_found                   | lease_not_found  | lease_not_found  | lease_not_found  | lease_not_found
F→B changed ±       | lease_not_found | lease_not_found                   | lease_not_found  | lease_not_found  | lease_not_found  | lease_not_found
F→B handed ±        | lease_not_found | lease_released                    | lease_released   | lease_released   | lease_released   | lease_released
F→none handed ±     | lease_not_found | lease_released                    | lease_released   | lease_released   | lease_released   | lease_released
F→A handed          | lease_not_found | active(A) same kept - again       | lease_released   | lease_released   | lease_released   | lease_released
F→A handed, same holder | lease_not_found | lease_released                | lease_released   | lease_released   | lease_released   | lease_released
`

func TestTransferTable(t *testing.T) {
	readTable(t, transferTable).each(t, variants, func(t *testing.T, transfer string, f variant, cell string) {
		eachChange(transfer, f, func(f variant, p proof, to string) {
			r := leasehold.TransferRequest{ID: p.id, Holder: p.holder, Token: p.token, To: rival, Proposed: ids[to]}
			if strings.HasSuffix(transfer, "same holder") {
				r.To = holder
			}
			if strings.HasPrefix(transfer, "F→") && f.row.Handed {
				f.row.Holder = rival // one from ann was carried out before
			}
			o := machine.Transfer(now, r, fresh, f.row, knownBy(f.row, to), machine.Standard)
			verifyCell(t, f, o, cell)
			if o.Granted {
				verifyTransferred(t, r, f.row, o)
			}
		})
	})
}

// eachChange reads the name of a change's or transfer's row, "from→to", and
// calls check with all proofs it stands for.
func eachChange(name string, f variant, check func(f variant, p proof, to string)) {
	_, to, _ := strings.Cut(name, "→")
	eachProof(name, f, func(f variant, p proof) { check(f, p, firstWord(to)) })
}

// verifyTransferred checks that a transfer makes a new holder, id and token,
// that the old id ends, that the new holder has it since now, and that the rest
// carries on.
func verifyTransferred(t *testing.T, r leasehold.TransferRequest, before machine.Row, o machine.Outcome) {
	t.Helper()
	want := before
	want.Holder, want.Token, want.ID = r.To, newToken, r.Proposed
	want.Former, want.Handed = before.ID, true
	want.Acquired, want.Renewed = now.Wall, now.Wall
	if r.Proposed.IsZero() {
		want.ID = fresh.ID
	}
	if r.Metadata != nil {
		want.Metadata = r.Metadata
	}
	verifyRow(t, want, o.Row)
	if diff := cmp.Diff(map[string]string{"from": holder}, o.Steps[0].Details); diff != "" {
		t.Errorf("the record's details (-want +got):\n%s", diff)
	}
}

// TestTransferMetadata: metadata is replaced if it is sent, also by none.
func TestTransferMetadata(t *testing.T) {
	for _, sent := range []map[string]string{nil, {}, {"colour": "blue"}, {"size": "9"}} {
		row := rowIn(leasehold.StateActive, left)
		kept := maps.Clone(row.Metadata)
		r := leasehold.TransferRequest{ID: ids["A"], To: rival, Proposed: ids["B"], Metadata: sent}
		verifyTransferred(t, r, row, machine.Transfer(now, r, fresh, row, nil, machine.Standard))
		if !maps.Equal(row.Metadata, kept) {
			t.Errorf("Transfer changed the map of the row before it to %v", row.Metadata)
		}
	}
}

// TestTransferToItself names the field, so that an API can.
func TestTransferToItself(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	o := machine.Transfer(now, leasehold.TransferRequest{ID: ids["A"], To: holder}, fresh, row, nil, machine.Standard)
	if o.Reason != leasehold.ReasonInvalid || o.Field != "to_holder" || !strings.Contains(o.Problem, "another holder") {
		t.Errorf("Transfer = %s, field %q, problem %q; want invalid_argument about to_holder", o.Reason, o.Field, o.Problem)
	}
}

// TestTransferPasses: the chain of holders goes on, and each old id ends.
func TestTransferPasses(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	first := machine.Transfer(now, leasehold.TransferRequest{ID: ids["A"], To: rival, Proposed: ids["B"]}, fresh, row, nil, machine.Standard)
	next := machine.Fresh{Token: newToken + 1, ID: ids["X"]}
	second := machine.Transfer(now, leasehold.TransferRequest{ID: ids["B"], To: holder, Proposed: ids["C"]}, next, first.Row, nil, machine.Standard)
	if second.Reason != "" || second.Row.Token != newToken+1 || second.Row.Holder != holder {
		t.Fatalf("the second transfer = %q, token %d, holder %q; want done, %d, %q", second.Reason, second.Row.Token, second.Row.Holder, newToken+1, holder)
	}
	for id, want := range map[string]leasehold.Reason{"A": leasehold.ReasonNotFound, "B": leasehold.ReasonReleased} {
		verifyRefusal(t, second.Row, machine.Release(now, leasehold.ReleaseRequest{ID: ids[id]}, second.Row, machine.Standard), want)
	}
}
