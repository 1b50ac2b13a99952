package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TestEndedLeaseDropsMetadata: the answer that ends a lease still has the
// metadata; the row that is kept has none.
func TestEndedLeaseDropsMetadata(t *testing.T) {
	row := rowIn(leasehold.StateActive, left)
	for name, o := range map[string]machine.Outcome{
		"release":       machine.Release(now, leasehold.ReleaseRequest{ID: row.ID}, row, machine.Standard),
		"break":         machine.Break(now, leasehold.BreakRequest{}, row, machine.Standard),
		"force-release": machine.ForceRelease(now, row, ""),
	} {
		if diff := cmp.Diff(row.Metadata, o.Row.Lease(now).Metadata); diff != "" {
			t.Errorf("%s: the answer's metadata (-want +got):\n%s", name, diff)
		}
		if kept := o.Steps[len(o.Steps)-1].Row; kept.Metadata != nil {
			t.Errorf("%s: the row keeps %v, want no metadata", name, kept.Metadata)
		}
	}
	for name, past := range map[string]machine.Row{
		"expired": rowIn(leasehold.StateActive, -agoEnded),
		"broken":  rowIn(leasehold.StateBreaking, -agoEnded),
	} {
		if got := past.Lease(now).Metadata; got != nil {
			t.Errorf("a lease that is %s since a while shows %v, want no metadata", name, got)
		}
		if kept := machine.Expire(now, past).Steps[0].Row; kept.Metadata != nil {
			t.Errorf("expired as %s: the row keeps %v, want no metadata", name, kept.Metadata)
		}
	}
}

// TestTooManyLeases: where there is room for no more, only what makes another
// live lease is refused.
func TestTooManyLeases(t *testing.T) {
	full := fresh
	full.Full, full.FullAt = leasehold.SettingMaxLeases, 7
	acquire := leasehold.AcquireRequest{Resource: resource, Holder: holder, ID: ids["A"], TTL: askedTTL, MaxRenewals: unlimited()}
	active, ended := rowIn(leasehold.StateActive, left), rowIn(leasehold.StateExpired, -agoEnded)
	for name, o := range map[string]machine.Outcome{
		"acquire":       machine.Acquire(now, acquire, full, nil, nil, machine.Standard),
		"revive":        machine.Renew(now, leasehold.RenewRequest{ID: ids["A"]}, full, ended, machine.Azure),
		"acquire, late": machine.Acquire(now, acquire, full, []machine.Row{rowIn(leasehold.StateActive, 0)}, nil, machine.Azure),
	} {
		if o.Reason != leasehold.ReasonTooMany || o.Granted || o.Field != leasehold.SettingMaxLeases || o.Problem != "7" {
			t.Errorf("%s = %q (%s %s), granted %t; want too_many_leases (max_leases 7)", name, o.Reason, o.Field, o.Problem, o.Granted)
		}
	}
	for name, o := range map[string]machine.Outcome{
		"acquire again": machine.Acquire(now, acquire, full, []machine.Row{active}, &active, machine.Standard),
		"renew":         machine.Renew(now, leasehold.RenewRequest{ID: ids["A"]}, full, active, machine.Standard),
		"transfer":      machine.Transfer(now, leasehold.TransferRequest{ID: ids["A"], To: rival}, full, active, nil, machine.Standard),
	} {
		if o.Reason != "" {
			t.Errorf("%s = %q, want success: it makes no lease more", name, o.Reason)
		}
	}
	held := machine.Acquire(now, leasehold.AcquireRequest{Resource: resource, Holder: rival, MaxRenewals: unlimited()}, full, []machine.Row{active}, nil, machine.Standard)
	if held.Reason != leasehold.ReasonHeld {
		t.Errorf("acquire of what is held = %q, want lease_held: that can be waited for", held.Reason)
	}
}
