package wire

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"pgregory.net/rapid"
)

// same fails unless the value came back as it went.
func same[T any](t *rapid.T, got, want T, err error) {
	if err != nil {
		t.Fatalf("%T came back with %v, want success", want, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%T came back changed (-sent +received):\n%s", want, diff)
	}
}

func TestLeaseThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLease().Draw(t, "lease")
		got, err := overWire(t, FromLease(l)).Lease()
		same(t, got, inUTC(l), err)
		if got.ID != l.ID {
			t.Fatalf("the id did not come back")
		}
	})
}

func TestGrantThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := leasehold.Grant{Lease: genLease().Draw(t, "lease"), Idempotent: rapid.Bool().Draw(t, "idempotent")}
		blocking := rapid.Bool().Draw(t, "blocking")
		var cut time.Duration
		if blocking {
			cut = rapid.OneOf(genMillis(), rapid.Just(leasehold.WaitUnknown)).Draw(t, "waited")
			g.Waited = cut
			if cut != leasehold.WaitUnknown {
				g.Waited += time.Duration(rapid.IntRange(0, 999_999).Draw(t, "nanoseconds")) // cut on the way
			}
		}
		got, err := overWire(t, FromGrant(g, blocking)).Grant(blocking)
		g.Lease, g.Waited = inUTC(g.Lease), cut
		same(t, got, g, err)
	})
}

func TestReleasedAndBrokenThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := genLease().Draw(t, "lease")
		released, err := overWire(t, Released{Success: true, Lease: FromLease(l)}).Lease.Lease()
		same(t, released, inUTC(l), err)
		broken, err := overWire(t, Broken{Remaining: 1, Lease: FromLease(l)}).Lease.Lease()
		same(t, broken, inUTC(l), err)
	})
}

func TestLeasePageThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := leasehold.LeasePage{Cursor: rapid.String().Draw(t, "cursor")}
		want := p
		for _, l := range rapid.SliceOfN(genLease(), 0, 3).Draw(t, "leases") {
			p.Leases, want.Leases = append(p.Leases, l), append(want.Leases, inUTC(l))
		}
		got, err := overWire(t, FromLeasePage(p)).Page()
		same(t, got, want, err)
	})
}

func TestStatusThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := leasehold.Status{Resource: genName(leasehold.MaxResource).Draw(t, "resource")}
		want := s
		if rapid.Bool().Draw(t, "leased") {
			l := genLease().Draw(t, "lease")
			s.Lease, want.Lease = &l, new(inUTC(l))
		}
		for _, l := range rapid.SliceOfN(genLease(), 0, 2).Draw(t, "leases") {
			s.Leases, want.Leases = append(s.Leases, l), append(want.Leases, inUTC(l))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "waiters") {
			p := leasehold.Place{
				Holder: genName(leasehold.MaxHolder).Draw(t, "holder"), Position: i + 1,
				Priority: rapid.IntRange(-100, 100).Draw(t, "priority"), Since: genTime().Draw(t, "since"),
			}
			s.Waiters = append(s.Waiters, p)
			p.Since = p.Since.UTC()
			want.Waiters = append(want.Waiters, p)
		}
		w := FromStatus(s)
		if w.Locked != s.Locked() {
			t.Fatalf("FromStatus(%v).Locked = %v", s.Lease, w.Locked)
		}
		got, err := overWire(t, w).Status()
		same(t, got, want, err)
	})
}

func TestHistoryThereAndBack(t *testing.T) {
	kinds := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindPurged, leasehold.KindRefused, "from_a_newer_server"}
	rapid.Check(t, func(t *rapid.T) {
		p := leasehold.HistoryPage{Cursor: rapid.String().Draw(t, "cursor")}
		want := p
		for range rapid.IntRange(0, 3).Draw(t, "records") {
			r := leasehold.Record{
				Seq: genToken().Draw(t, "seq"), At: genTime().Draw(t, "at"), Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
				Resource: genOptionalName().Draw(t, "resource"), Holder: genOptionalName().Draw(t, "holder"),
				Token: genToken().Draw(t, "token"), Before: genState().Draw(t, "before"), After: genState().Draw(t, "after"),
				Renewals: rapid.IntRange(0, 9).Draw(t, "renewals"), Why: genOptionalName().Draw(t, "why"),
				Details: genMetadata().Draw(t, "details"),
			}
			p.Records = append(p.Records, r)
			r.At = r.At.UTC()
			want.Records = append(want.Records, r)
		}
		got, err := overWire(t, FromHistoryPage(p)).Page()
		same(t, got, want, err)
	})
}

func TestSettingThereAndBack(t *testing.T) {
	for _, s := range leasehold.DefaultSettings() {
		s.RequiresRestart = s.Key == leasehold.SettingBlocking
		got := overWire(t, FromSetting(s)).Setting()
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("setting %q came back changed (-sent +received):\n%s", s.Key, diff)
		}
	}
}

func TestAcquireThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := leasehold.AcquireRequest{
			Resource: genName(leasehold.MaxResource).Draw(t, "resource"), Holder: genName(leasehold.MaxHolder).Draw(t, "holder"),
			ID: genOptionalID().Draw(t, "id"), TTL: genTTL().Draw(t, "ttl"), Metadata: genMetadata().Draw(t, "metadata"),
			Priority: rapid.IntRange(-100, 100).Draw(t, "priority"), Sequence: rapid.Bool().Draw(t, "sequence"),
		}
		if rapid.Bool().Draw(t, "set") {
			r.Resource, r.Claims = "", genClaims().Draw(t, "claims")
		}
		if rapid.Bool().Draw(t, "limited") {
			r.MaxRenewals = new(rapid.IntRange(-1, leasehold.MaxMaxRenewals).Draw(t, "max"))
		}
		blocking := rapid.Bool().Draw(t, "blocking")
		want := r
		if blocking {
			r.Timeout = rapid.OneOf(genMillis(), rapid.Just(leasehold.NoTimeout)).Draw(t, "timeout")
			want.Timeout = r.Timeout
			if r.Timeout == leasehold.NoTimeout {
				want.Timeout = leasehold.MaxTimeout // the client asks again and again
			}
		} else {
			r.Timeout = genMillis().Draw(t, "timeout") // means nothing, so it is not sent
		}
		got, wait, err := overWire(t, FromAcquire(r, blocking)).Request()
		same(t, got, want, err)
		if wait != blocking {
			t.Fatalf("blocking %v came back as %v", blocking, wait)
		}
	})
}

func TestRequestsThereAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id, proposed := genID().Draw(t, "id"), genID().Draw(t, "proposed")
		resource, holder := genOptionalName().Draw(t, "resource"), genOptionalName().Draw(t, "holder")
		token, why := genToken().Draw(t, "token"), genOptionalName().Draw(t, "why")

		renew := leasehold.RenewRequest{ID: id, Resource: resource, TTL: genTTL().Draw(t, "ttl"), Holder: holder, Token: token}
		gotRenew, err := overWire(t, FromRenew(renew)).Request()
		same(t, gotRenew, renew, err)

		release := leasehold.ReleaseRequest{ID: id, Resource: resource, Holder: holder, Token: token, Why: why, Note: holder}
		gotRelease, err := overWire(t, FromRelease(release)).Request()
		same(t, gotRelease, release, err)

		change := leasehold.ChangeRequest{ID: id, Resource: resource, Proposed: proposed, Holder: holder, Token: token}
		gotChange, err := overWire(t, FromChange(change)).Request()
		same(t, gotChange, change, err)

		transfer := leasehold.TransferRequest{
			ID: id, Resource: resource, To: holder, Holder: why, Token: token,
			Proposed: genOptionalID().Draw(t, "new"), Note: why,
			Metadata: rapid.OneOf(genMetadata(), rapid.Just(map[string]string{})).Draw(t, "metadata"), // nil keeps, {} empties
		}
		gotTransfer, err := overWire(t, FromTransfer(transfer)).Request()
		same(t, gotTransfer, transfer, err)

		broken := leasehold.BreakRequest{Resource: resource, Why: why}
		if rapid.Bool().Draw(t, "with a period") {
			broken.Period = new(time.Duration(rapid.Int64Range(0, int64(leasehold.MaxBreakPeriod)).Draw(t, "period")))
		}
		gotBreak, err := overWire(t, FromBreak(broken)).Request()
		same(t, gotBreak, broken, err)

		gotID, err := overWire(t, GetRequest{LeaseID: id.Reveal()}).Request()
		same(t, gotID, id, err)
	})
}
