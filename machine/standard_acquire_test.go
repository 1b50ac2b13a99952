package machine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// acquireTable says what an acquire for 30 s answers. A is the id on record,
// F the one before it, given up in a change or handed over in a transfer; B is
// new. The others are known from other resources: L lives, R, E and K were
// released, expired and broken, G was given up in a change.
const acquireTable = `
acquire with        | available                  | active                           | breaking       | released                   | expired                    | broken
none                | active(X) new 30s acquired | lease_held                       | lease_breaking | active(X) new 30s acquired | active(X) new 30s acquired | active(X) new 30s acquired
none, other holder  | active(X) new 30s acquired | lease_held                       | lease_breaking | active(X) new 30s acquired | active(X) new 30s acquired | active(X) new 30s acquired
A                   | active(A) new 30s acquired | active(A) same 30s renewed again | lease_breaking | lease_released             | lease_expired              | lease_broken
A, other holder     | active(A) new 30s acquired | lease_held                       | lease_breaking | lease_released             | lease_expired              | lease_broken
B                   | active(B) new 30s acquired | lease_held                       | lease_breaking | active(B) new 30s acquired | active(B) new 30s acquired | active(B) new 30s acquired
B, other holder     | active(B) new 30s acquired | lease_held                       | lease_breaking | active(B) new 30s acquired | active(B) new 30s acquired | active(B) new 30s acquired
F changed           | active(F) new 30s acquired | lease_released                   | lease_released | lease_released             | lease_released             | lease_released
F handed            | active(F) new 30s acquired | lease_released                   | lease_released | lease_released             | lease_released             | lease_released
L                   | lease_id_in_use            | lease_id_in_use                  | lease_id_in_use | lease_id_in_use           | lease_id_in_use            | lease_id_in_use
R                   | lease_released             | lease_released                   | lease_released | lease_released             | lease_released             | lease_released
E                   | lease_expired              | lease_expired                    | lease_expired  | lease_expired              | lease_expired              | lease_expired
K                   | lease_broken               | lease_broken                     | lease_broken   | lease_broken               | lease_broken               | lease_broken
G                   | lease_released             | lease_released                   | lease_released | lease_released             | lease_released             | lease_released
`

func TestAcquireTable(t *testing.T) {
	readTable(t, acquireTable).each(t, variants, func(t *testing.T, with string, f variant, cell string) {
		id, f := firstWord(with), withFormer(with, f)
		r := acquireRequest(id)
		if strings.HasSuffix(with, "other holder") {
			r.Holder = rival
		}
		o := machine.Acquire(now, r, fresh, rowsOf(f.row), knownBy(f.row, id), machine.Standard)
		verifyCell(t, f, o, cell)
		if o.Granted {
			verifyGrant(t, r, o)
		}
	})
}

func acquireRequest(id string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{
		Resource: resource, Holder: holder, ID: ids[id], TTL: askedTTL,
		MaxRenewals: new(3), Metadata: map[string]string{"colour": "blue"},
	}
}

// withFormer reads the words "changed" and "handed" in the name of a row of a
// table: the lease on record had the id F before.
func withFormer(name string, f variant) variant {
	changed, handed := strings.Contains(name, "changed"), strings.Contains(name, "handed")
	if (changed || handed) && f.row.State != leasehold.StateAvailable {
		f.row.Former, f.row.Handed = ids["F"], handed
	}
	return f
}

// firstWord is the id that a caller shows or proposes.
func firstWord(name string) string {
	return strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" ,→", r) })[0]
}

// rowsOf is what a store would find in the way of an acquire.
func rowsOf(row machine.Row) []machine.Row {
	if row.State == leasehold.StateAvailable {
		return nil
	}
	return []machine.Row{row}
}

// verifyGrant checks that a new lease has all that was asked for and nothing
// of the one before it.
func verifyGrant(t *testing.T, r leasehold.AcquireRequest, o machine.Outcome) {
	t.Helper()
	want := machine.Row{
		Resource: r.Resource, Holder: r.Holder, ID: r.ID, Token: newToken,
		State: leasehold.StateActive, TTL: r.TTL, Ends: endAfter(r.TTL),
		Acquired: now.Wall, Renewed: now.Wall,
		MaxRenewals: int32(*r.MaxRenewals), Metadata: r.Metadata,
	}
	if r.ID.IsZero() {
		want.ID = fresh.ID
	}
	if diff := cmp.Diff(want, o.Row, idsByName); diff != "" {
		t.Errorf("Acquire(%q) made another row (-want +got):\n%s", r.Resource, diff)
	}
}

// TestReacquire: a repeated acquire restarts the ttl that it sends and counts
// as a renewal. It changes neither the token nor metadata nor limits.
func TestReacquire(t *testing.T) {
	for _, ttl := range []time.Duration{time.Second, askedTTL, 24 * time.Hour, leasehold.Infinite} {
		for _, f := range variants(t, "active") {
			r := acquireRequest("A")
			r.TTL = ttl
			o := machine.Acquire(now, r, fresh, []machine.Row{f.row}, &f.row, machine.Standard)
			want := f.row
			want.TTL, want.Ends, want.Renewed = ttl, endAfter(ttl), now.Wall
			want.Renewals++
			if diff := cmp.Diff(want, o.Row, idsByName); diff != "" {
				t.Errorf("%s: a repeated Acquire for %v made another row (-want +got):\n%s", f.name, ttl, diff)
			}
			if !o.Idempotent || o.Granted {
				t.Errorf("%s: Idempotent = %t, Granted = %t; want true, false", f.name, o.Idempotent, o.Granted)
			}
		}
	}
}

// TestReacquireLimit: what counts as a renewal obeys the limit of renewals.
func TestReacquireLimit(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	row.MaxRenewals = row.Renewals + 1
	once := machine.Acquire(now, acquireRequest("A"), fresh, []machine.Row{row}, &row, machine.Standard)
	verifyCell(t, variant{row: row}, once, "active(A) same 30s renewed again")
	twice := machine.Acquire(now, acquireRequest("A"), fresh, []machine.Row{once.Row}, &once.Row, machine.Standard)
	verifyRefusal(t, once.Row, twice, leasehold.ReasonMaxRenewals)
}

// TestNoIDIsKnownByNone: a request without an id proposes nothing, so nothing
// can be known about it, whatever a store has looked up.
func TestNoIDIsKnownByNone(t *testing.T) {
	stray := machine.Row{Resource: "other job", State: leasehold.StateReleased}
	o := machine.Acquire(now, acquireRequest("none"), fresh, nil, &stray, machine.Standard)
	verifyCell(t, variant{row: machine.Row{Resource: resource}}, o, "active(X) new 30s acquired")

	row := rowIn(leasehold.StateActive, left)
	o = machine.Transfer(now, leasehold.TransferRequest{ID: ids["A"], To: rival}, fresh, row, &stray, machine.Standard)
	verifyCell(t, variant{row: row}, o, "active(X) new kept transferred")
}
