package wire

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// FuzzRequests feeds bodies to every request. Whatever comes in, what comes out
// is a request that a store can judge, or ErrInvalid.
func FuzzRequests(f *testing.F) {
	for _, r := range []any{
		FromAcquire(leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: goldenID, TTL: time.Minute, Timeout: time.Second}, true),
		FromAcquire(leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "src/**", "*.md"), Holder: "h", Sequence: true}, true),
		AcquireRequest{Resources: []string{"a", "b"}, Mode: "shared", Namespace: "n", Paths: []Path{{"p", "shared"}}},
		FromRenew(leasehold.RenewRequest{ID: goldenID, TTL: leasehold.Infinite}),
		FromTransfer(leasehold.TransferRequest{ID: goldenID, To: "x", Proposed: otherID}),
		FromBreak(leasehold.BreakRequest{Resource: "r", Period: new(time.Second)}),
	} {
		text, _ := json.Marshal(r)
		f.Add(text)
	}
	f.Add([]byte(`{"ttl_seconds":1e999}`))
	f.Add([]byte(`{"break_period_seconds":-0,"duration":1e-300,"timeout_ms":9223372036854775807}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		check := func(err error) {
			if err != nil && !errors.Is(err, leasehold.ErrInvalid) {
				t.Fatalf("Request(%q) = %v, want success or ErrInvalid", text, err)
			}
		}
		if w := (AcquireRequest{}); json.Unmarshal(text, &w) == nil {
			r, wait, err := w.Request()
			check(err)
			if err == nil && (r.Timeout < 0 || r.TTL < leasehold.Infinite || wait && !w.Blocking || r.Resource != "" && r.Claims != nil) {
				t.Fatalf("Request(%q) = %+v, %v", text, r, wait)
			}
			if err == nil {
				check(r.ValidateAll())
			}
		}
		if w := (RenewRequest{}); json.Unmarshal(text, &w) == nil {
			_, err := w.Request()
			check(err)
		}
		if w := (TransferRequest{}); json.Unmarshal(text, &w) == nil {
			_, err := w.Request()
			check(err)
		}
		if w := (BreakRequest{}); json.Unmarshal(text, &w) == nil {
			r, err := w.Request()
			check(err)
			if err == nil && r.Period != nil && (*r.Period < 0 || *r.Period > leasehold.MaxBreakPeriod) {
				t.Fatalf("Request(%q).Period = %v", text, *r.Period)
			}
		}
	})
}

// FuzzAnswers feeds bodies to everything that a client reads: a broken server
// must not make it crash, show an id, or believe in a time that is none.
func FuzzAnswers(f *testing.F) {
	for _, a := range []any{
		FromGrant(leasehold.Grant{Lease: owned(), Waited: time.Second}, true),
		FromError(&leasehold.Error{Reason: leasehold.ReasonHeld, Current: &golden, RetryAfter: time.Second}),
		FromError(&leasehold.Error{Reason: leasehold.ReasonDeadlock, Reserved: "a", Overlap: &leasehold.Overlap{Part: "x"}, Cycle: []leasehold.WaitEdge{{Holder: "a", HeldBy: "b"}}}),
		FromStatus(leasehold.Status{Resource: "r", Lease: &golden, Leases: []leasehold.Lease{golden}}),
		FromHistoryPage(leasehold.HistoryPage{Records: []leasehold.Record{{Kind: leasehold.KindAcquired}}}),
		FromSetting(leasehold.DefaultSettings()[0]),
	} {
		text, _ := json.Marshal(a)
		f.Add(text)
	}
	f.Add([]byte(`{"code":"lease_held","current":{"status":"active","lease_id":"11111111-2222-4333-8444-555555555555"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if w := (Grant{}); json.Unmarshal(text, &w) == nil {
			if g, err := w.Grant(true); err == nil && (g.Waited < leasehold.WaitUnknown || g.Remaining < leasehold.Infinite) {
				t.Fatalf("Grant(%q) waited %v, remaining %v", text, g.Waited, g.Remaining)
			}
		}
		if w := (Problem{}); json.Unmarshal(text, &w) == nil {
			e := w.Error()
			if e.Current != nil && !e.Current.ID.IsZero() || e.RetryAfter < 0 || e.Waited < 0 || e.Waiting < 0 {
				t.Fatalf("Error(%q) = %+v", text, e)
			}
			if e.Reason.Sentinel() == leasehold.ErrUnknown && e.Reason != leasehold.ReasonUnknown {
				t.Fatalf("Error(%q) has the reason %q, which nobody knows", text, e.Reason)
			}
			_ = e.Error()
		}
		if w := (Resource{}); json.Unmarshal(text, &w) == nil {
			_, _ = w.Status()
		}
		if w := (History{}); json.Unmarshal(text, &w) == nil {
			_, _ = w.Page()
		}
		if w := (Setting{}); json.Unmarshal(text, &w) == nil {
			_ = w.Setting()
		}
	})
}
