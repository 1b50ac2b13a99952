package machine_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

func TestRemaining(t *testing.T) {
	for _, tt := range []struct {
		name string
		row  machine.Row
		want time.Duration
	}{
		{"available", machine.Row{Resource: resource}, 0},
		{"active", rowIn(leasehold.StateActive, left), left},
		{"active without an end", infinite(rowIn(leasehold.StateActive, left)), leasehold.Infinite},
		{"active in its last nanosecond", rowIn(leasehold.StateActive, 1), 1},
		{"active at its end", rowIn(leasehold.StateActive, 0), 0},
		{"active past its end", rowIn(leasehold.StateActive, -1), 0},
		{"breaking", rowIn(leasehold.StateBreaking, breakLeft), breakLeft},
		{"breaking past its end", rowIn(leasehold.StateBreaking, -1), 0},
		{"released", rowIn(leasehold.StateReleased, -agoEnded), 0},
		{"expired", rowIn(leasehold.StateExpired, -agoEnded), 0},
		{"broken", rowIn(leasehold.StateBroken, -agoEnded), 0},
	} {
		if got := tt.row.Remaining(now); got != tt.want {
			t.Errorf("Remaining(%s) = %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestLease: expires_at is the wall clock plus the time that remains, whatever
// the store's own clock counts from.
func TestLease(t *testing.T) {
	wall := time.UnixMilli(now.Wall).UTC()
	want := leasehold.Lease{
		Resource: resource, Holder: holder, Token: oldToken, State: leasehold.StateActive,
		TTL: longTTL, Remaining: left,
		AcquiredAt: wall.Add(-50 * time.Second), RenewedAt: wall.Add(-20 * time.Second), ExpiresAt: wall.Add(left),
		Renewals: 2, MaxRenewals: leasehold.Unlimited, Metadata: map[string]string{"colour": "red"},
	}
	row := rowIn(leasehold.StateActive, left)
	verifyLease(t, "Lease", want, row.Lease(now))

	owned := want
	owned.ID = ids["A"]
	verifyLease(t, "Owned", owned, row.Owned(now))

	past := rowIn(leasehold.StateActive, -agoEnded)
	ended := want
	ended.State, ended.Remaining, ended.ExpiresAt, ended.Metadata = leasehold.StateExpired, 0, wall.Add(-agoEnded), nil
	verifyLease(t, "Lease of a row past its end", ended, past.Lease(now))

	want.State, want.TTL, want.Remaining, want.ExpiresAt = leasehold.StateActive, leasehold.Infinite, leasehold.Infinite, time.Time{}
	verifyLease(t, "Lease without an end", want, infinite(row).Lease(now))
}

func verifyLease(t *testing.T, what string, want, got leasehold.Lease) {
	t.Helper()
	if diff := cmp.Diff(want, got, idsByName); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestWallTime(t *testing.T) {
	want := time.Date(2023, 11, 14, 22, 13, 20, 0, time.UTC)
	if got := now.WallTime(); got != want {
		t.Errorf("WallTime() = %v, want %v", got, want)
	}
}

// TestAcquireAmongSeveral: an acquire conflicts with rows of sets that have the
// resource. A live one refuses it, a dead one is written down and lets it pass, and
// none of them becomes the lease.
func TestAcquireAmongSeveral(t *testing.T) {
	live, dead, own := *elsewhere("L"), *elsewhere("E"), rowIn(leasehold.StateExpired, -agoEnded)
	live.Claims = leasehold.Resources("other", resource)
	dead.Claims = live.Claims
	dying := live
	dying.State = leasehold.StateBreaking
	for _, tt := range []struct {
		name      string
		conflicts []machine.Row
		want      leasehold.Reason
		steps     int
	}{
		{"none", nil, "", 1},
		{"its own, ended", []machine.Row{own}, "", 1},
		{"another's, ended", []machine.Row{dead}, "", 2},
		{"both, ended", []machine.Row{dead, own}, "", 2},
		{"another's, live", []machine.Row{live}, leasehold.ReasonHeld, 0},
		{"another's, breaking", []machine.Row{own, dying}, leasehold.ReasonBreaking, 0},
		{"an ended one and a live one", []machine.Row{own, dead, live}, leasehold.ReasonHeld, 1},
	} {
		o := machine.Acquire(now, acquireRequest("B"), fresh, tt.conflicts, nil, machine.Standard)
		if o.Reason != tt.want || len(o.Steps) != tt.steps || o.Row.Resource != resource {
			t.Errorf("Acquire with %s = %q, %d steps, row of %q; want %q, %d, %q",
				tt.name, o.Reason, len(o.Steps), o.Row.Resource, tt.want, tt.steps, resource)
		}
		if o.Granted {
			verifyGrant(t, acquireRequest("B"), o)
		}
	}
}
