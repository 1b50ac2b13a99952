package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leasehold/leasehold"
	"pgregory.net/rapid"
)

// allReasons is every reason with the status of its code. It is written out
// and not taken from the product, so that the table cannot change unnoticed.
var allReasons = map[leasehold.Reason]int{
	leasehold.ReasonInvalid: 400, leasehold.ReasonTooLarge: 413, leasehold.ReasonMediaType: 415,
	leasehold.ReasonUnauthenticated: 401, leasehold.ReasonForbidden: 403, leasehold.ReasonHolderMismatch: 403,
	leasehold.ReasonNotFound: 404, leasehold.ReasonExpired: 404, leasehold.ReasonReleased: 404, leasehold.ReasonBroken: 404,
	leasehold.ReasonIDMismatch: 404, leasehold.ReasonNotPresent: 404, leasehold.ReasonTokenMismatch: 404,
	leasehold.ReasonHeld: 409, leasehold.ReasonBreaking: 409, leasehold.ReasonDeadlock: 409, leasehold.ReasonIDInUse: 409,
	leasehold.ReasonMissing: 409, leasehold.ReasonTimeout: 409, leasehold.ReasonCancelled: 409, leasehold.ReasonSuperseded: 409,
	leasehold.ReasonMaxRenewals: 409, leasehold.ReasonBlockingDisabled: 409,
	leasehold.ReasonTooMany:     429,
	leasehold.ReasonRateLimited: 429, leasehold.ReasonUnsupported: 501,
	leasehold.ReasonUnavailable: 503, leasehold.ReasonUnknown: 504,
}

var sentinels = []error{
	leasehold.ErrHeld, leasehold.ErrLost, leasehold.ErrNotFound, leasehold.ErrForbidden, leasehold.ErrInvalid,
	leasehold.ErrUnsupported, leasehold.ErrTimeout, leasehold.ErrUnavailable, leasehold.ErrUnknown,
}

func TestEveryReasonHasAStatusAndComesBack(t *testing.T) {
	if len(allReasons) != len(statuses) {
		t.Errorf("%d reasons are tested, %d have a status", len(allReasons), len(statuses))
	}
	for reason, status := range allReasons {
		e := &leasehold.Error{Reason: reason, Op: "renew"}
		p := overWire(t, FromError(e))
		if p.Status != status || p.Code != string(reason) || p.Detail != e.Error() {
			t.Errorf("FromError(%s) = %d %q %q, want %d", reason, p.Status, p.Code, p.Detail, status)
		}
		got := p.Error()
		for _, s := range sentinels {
			if errors.Is(got, s) != errors.Is(e, s) {
				t.Errorf("%s comes back with errors.Is(%v) = %v", reason, s, errors.Is(got, s))
			}
		}
	}
}

// An ended id that is proposed is a conflict; one that is shown is not found.
func TestEndedIDs(t *testing.T) {
	for _, c := range []struct {
		e    leasehold.Error
		want int
	}{
		{leasehold.Error{Reason: leasehold.ReasonReleased, Op: "renew"}, 404},
		{leasehold.Error{Reason: leasehold.ReasonReleased, Op: "acquire"}, 409},
		{leasehold.Error{Reason: leasehold.ReasonExpired, Op: "change", Field: "proposed_lease_id"}, 409},
		{leasehold.Error{Reason: leasehold.ReasonBroken, Op: "transfer", Field: "proposed_lease_id"}, 409},
		{leasehold.Error{Reason: leasehold.ReasonForbidden, Op: "acquire"}, 403},
		{leasehold.Error{Reason: "not_ours"}, 500},
	} {
		if got := Status(&c.e); got != c.want {
			t.Errorf("Status(%s of %s) = %d, want %d", c.e.Reason, c.e.Op, got, c.want)
		}
	}
}

func TestErrorThereAndBack(t *testing.T) {
	var reasons []leasehold.Reason
	for r := range allReasons {
		reasons = append(reasons, r)
	}
	byText := cmp.Comparer(func(a, b error) bool { return a == b || a != nil && b != nil && a.Error() == b.Error() })
	rapid.Check(t, func(t *rapid.T) {
		e := leasehold.Error{
			Reason: rapid.SampledFrom(reasons).Draw(t, "reason"), Op: rapid.SampledFrom([]string{"acquire", "renew", ""}).Draw(t, "op"),
			Resource: genOptionalName().Draw(t, "resource"), Store: "sqlite",
			Field: genOptionalName().Draw(t, "field"), Problem: genOptionalName().Draw(t, "problem"),
			Waiting: rapid.IntRange(0, 100).Draw(t, "waiting"), Waited: genMillis().Draw(t, "waited"),
			RetryAfter: max(0, genExact().Draw(t, "retry after")), Remaining: genExact().Draw(t, "remaining"),
		}
		if rapid.Bool().Draw(t, "caused") {
			e.Cause = errors.New("disk full: " + genOptionalName().Draw(t, "cause"))
		}
		if rapid.Bool().Draw(t, "current") {
			e.Current = new(genLease().Draw(t, "current"))
		}
		if rapid.Bool().Draw(t, "claims") {
			e.Overlap = &leasehold.Overlap{Requested: genClaim().Draw(t, "requested"), Held: genClaim().Draw(t, "held"), Part: genName(64).Draw(t, "part")}
			e.Reserved = genOptionalName().Draw(t, "reserved for")
			for range rapid.IntRange(0, 3).Draw(t, "edges") {
				e.Cycle = append(e.Cycle, leasehold.WaitEdge{Holder: genName(64).Draw(t, "waits"), Claim: genClaim().Draw(t, "claim"), HeldBy: genName(64).Draw(t, "held by")})
			}
		}
		p := FromError(&e)
		text, _ := json.Marshal(p)
		if e.Current != nil && strings.Contains(string(text), "lease_id\"") {
			t.Fatalf("a problem carries the id of the lease in the way")
		}
		want := e
		if e.Current != nil {
			want.Current = new(inUTC(*e.Current))
			want.Current.ID, want.Current.Notes = leasehold.ID{}, nil
		}
		got := *overWire(t, p).Error()
		if diff := cmp.Diff(want, got, byText, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("the error came back changed (-sent +received):\n%s", diff)
		}
		if got.Error() != e.Error() {
			t.Fatalf("the message came back as %q, want %q", got.Error(), e.Error())
		}
	})
}

// Even a server that sends an id must not make us show it.
func TestCurrentNeverCarriesAnID(t *testing.T) {
	id := leasehold.NewID()
	p := Problem{Code: string(leasehold.ReasonHeld), Current: &Lease{LeaseID: id.Reveal(), Status: "active"}}
	if e := p.Error(); e.Current == nil || !e.Current.ID.IsZero() {
		t.Errorf("Error().Current carries an id, or is missing")
	}
	p.Current.Status = "from_a_newer_server"
	strange := Claim{Pattern: "a", Mode: "from_a_newer_server"}
	p.Cycle = []Wait{{Holder: "a", Claim: strange, HeldBy: "a"}}
	for _, p.Overlap = range []*Overlap{{Requested: strange}, {Held: strange}} {
		if e := p.Error(); e.Current != nil || e.Overlap != nil || e.Cycle != nil || e.Reason != leasehold.ReasonHeld {
			t.Errorf("Error() = %+v with what cannot be read, want the error without it", e)
		}
	}
}

func TestUnknownCodesGoByStatus(t *testing.T) {
	for status, want := range map[int]error{
		400: leasehold.ErrInvalid, 401: leasehold.ErrForbidden, 403: leasehold.ErrForbidden, 404: leasehold.ErrNotFound,
		405: leasehold.ErrUnsupported, 409: leasehold.ErrHeld, 413: leasehold.ErrInvalid, 415: leasehold.ErrInvalid,
		418: leasehold.ErrInvalid, 429: leasehold.ErrUnavailable, 500: leasehold.ErrUnknown, 501: leasehold.ErrUnsupported,
		502: leasehold.ErrUnknown, 503: leasehold.ErrUnavailable, 504: leasehold.ErrUnknown, 599: leasehold.ErrUnknown,
	} {
		e := Problem{Code: "from_a_newer_server", Status: status, Detail: "the moon is full"}.Error()
		if !errors.Is(e, want) || !strings.Contains(e.Error(), "the moon is full") {
			t.Errorf("Error() of status %d = %v (%s), want %v and what the server said", status, e, e.Reason, want)
		}
	}
}

func TestHostileNumbers(t *testing.T) {
	p := Problem{Code: string(leasehold.ReasonTimeout), RetryAfter: new(1e300), Waiting: new(-5), Remaining: new(-7.0), WaitedMS: new(int64(1 << 62))}
	e := p.Error()
	if e.RetryAfter <= 0 || e.Waiting != 0 || e.Remaining != 0 || e.Waited <= 0 {
		t.Errorf("Error() = %+v, want no number to wrap around", e)
	}
	p.RetryAfter, p.WaitedMS = new(-1.0), new(int64(-1))
	if e := p.Error(); e.RetryAfter != 0 || e.Waited != 0 {
		t.Errorf("Error() = %v to retry, %v waited; want 0", e.RetryAfter, e.Waited)
	}
	g, err := Grant{Lease: Lease{Status: "active", TTL: 1e200, Remaining: 1e12}, WaitedMS: new(int64(-1))}.Grant(true)
	if err != nil || g.TTL < 0 || g.Remaining < time.Hour || g.Waited != 0 {
		t.Errorf("Grant() = %v, %v, %v, %v; want no number to wrap around", g.TTL, g.Remaining, g.Waited, err)
	}
}
