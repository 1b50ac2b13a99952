package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TestAzureLeaseTime checks the x-ms-lease-time that a break answers: a lease
// with 40 s left, one without an end, one that breaks in 25 s.
func TestAzureLeaseTime(t *testing.T) {
	fixed := rowIn(leasehold.StateActive, left)
	for _, tt := range []struct {
		name   string
		row    machine.Row
		period *time.Duration
		want   time.Duration
	}{
		{"fixed, at once", fixed, period(0), 0},
		{"fixed, less than remains", fixed, period(39 * time.Second), 39 * time.Second},
		{"fixed, as much as remains", fixed, period(left), left},
		{"fixed, more than remains", fixed, period(60 * time.Second), left},
		{"fixed, no period", fixed, nil, left},
		{"infinite, at once", infinite(fixed), period(0), 0},
		{"infinite, 60 s", infinite(fixed), period(60 * time.Second), 60 * time.Second},
		{"infinite, no period", infinite(fixed), nil, 0},
		{"breaking, at once", rowIn(leasehold.StateBreaking, breakLeft), period(0), 0},
		{"breaking, shorter", rowIn(leasehold.StateBreaking, breakLeft), period(10 * time.Second), 10 * time.Second},
		{"breaking, longer", rowIn(leasehold.StateBreaking, breakLeft), period(60 * time.Second), breakLeft},
		{"breaking, no period", rowIn(leasehold.StateBreaking, breakLeft), nil, breakLeft},
		{"broken", rowIn(leasehold.StateBroken, -agoEnded), period(60 * time.Second), 0},
		{"expired", rowIn(leasehold.StateExpired, -agoEnded), period(60 * time.Second), 0},
	} {
		o := machine.Break(now, leasehold.BreakRequest{Period: tt.period}, tt.row, machine.Azure)
		if got := o.Row.Remaining(now); got != tt.want || o.Reason != "" {
			t.Errorf("Break(%s) leaves %v (reason %q), want %v", tt.name, got, o.Reason, tt.want)
		}
	}
}

// TestAzureReviveIsANewGrant: between the end and the renewal others may have
// looked at the blob, so the old token is worth nothing any more.
func TestAzureReviveIsANewGrant(t *testing.T) {
	for _, f := range variants(t, "expired") {
		for _, tt := range []struct {
			sent, want time.Duration
		}{{0, longTTL}, {askedTTL, askedTTL}, {leasehold.Infinite, leasehold.Infinite}} {
			o := machine.Renew(now, leasehold.RenewRequest{ID: ids["A"], TTL: tt.sent}, fresh, f.row, machine.Azure)
			want := f.row
			want.State, want.Token, want.TTL = leasehold.StateActive, newToken, tt.want
			want.Acquired, want.Renewed, want.Renewals = now.Wall, now.Wall, 0
			want.Ends, want.Metadata = endAfter(tt.want), nil
			if diff := cmp.Diff(want, o.Row, idsByName); diff != "" {
				t.Errorf("%s: Renew with ttl %v revived another row (-want +got):\n%s", f.name, tt.sent, diff)
			}
			verifyRevival(t, f.row, o)
		}
	}
}

func verifyRevival(t *testing.T, before machine.Row, o machine.Outcome) {
	t.Helper()
	verifySteps(t, before, o)
	last := o.Steps[len(o.Steps)-1]
	if !o.Granted || last.Kind != leasehold.KindAcquired || last.Before != leasehold.StateExpired {
		t.Errorf("granted %t, record %q from %s; want a grant, acquired, from expired", o.Granted, last.Kind, last.Before)
	}
	if diff := cmp.Diff(map[string]string{"revived": "true"}, last.Details); diff != "" {
		t.Errorf("details (-want +got):\n%s", diff)
	}
}

func endAfter(ttl time.Duration) machine.Time {
	if ttl == leasehold.Infinite {
		return machine.Never
	}
	return now.Clock + machine.Time(ttl)
}

// TestAzureReviveAfterAWrite follows the footnote of Azure's page: a write without an id
// makes the expired lease unrenewable; without one, as on a container, which is
// not guarded against the writing of its blobs, it can always be renewed.
func TestAzureReviveAfterAWrite(t *testing.T) {
	renew := leasehold.RenewRequest{ID: ids["A"]}
	for _, f := range variants(t, "expired") {
		if o := machine.Renew(now, renew, fresh, f.row, machine.Azure); o.Reason != "" {
			t.Errorf("%s: Renew without a write = %s, want a new grant", f.name, o.Reason)
		}
		written := machine.Guard(now, leasehold.ID{}, machine.Write, f.row)
		o := machine.Renew(now, renew, fresh, written.Row, machine.Azure)
		verifyAzureRefusal(t, "renew A", written.Row, o, "LeaseIdMismatchWithLeaseOperation")

		taken := azureAcquire(f.row, ids["B"])
		o = machine.Renew(now, renew, fresh, taken.Row, machine.Azure)
		verifyAzureRefusal(t, "renew A", taken.Row, o, "LeaseIdMismatchWithLeaseOperation")
	}
}

// TestAzureChangeBack: unlike in Standard, an id may return.
func TestAzureChangeBack(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	there := azureOperation(t, "change A→B", row)
	back := machine.Change(now, leasehold.ChangeRequest{ID: ids["B"], Proposed: ids["A"]}, there.Row, &there.Row, machine.Azure)
	verifyCell(t, variant{row: there.Row}, back, "active(A) same kept changed")
}

// TestEndedLeaseKeepsItsEnd: what Azure may still do to an ended lease does not
// move the moment at which it ended.
func TestEndedLeaseKeepsItsEnd(t *testing.T) {
	for _, state := range []string{"expired", "broken"} {
		for _, f := range variants(t, state) {
			for _, operation := range []string{"release A", "break 0", "break n", "break, no period"} {
				if o := azureOperation(t, operation, f.row); o.Row.Ends != f.row.Ends {
					t.Errorf("%s on %s (%s) moved its end by %v, want it kept", operation, state, f.name, time.Duration(o.Row.Ends-f.row.Ends))
				}
			}
		}
	}
}

// TestAzureRowsAreScoped: the same id may be live on two blobs, so a blob's
// lease must not be found by its id alone.
func TestAzureRowsAreScoped(t *testing.T) {
	empty := machine.Row{Resource: resource}
	if o := azureAcquire(empty, ids["A"]); !o.Row.Scoped {
		t.Error("Acquire under Azure made a row that is not scoped")
	}
	r := leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: askedTTL, MaxRenewals: unlimited()}
	if o := machine.Acquire(now, r, fresh, nil, nil, machine.Standard); o.Row.Scoped {
		t.Error("Acquire under Standard made a scoped row")
	}
}
