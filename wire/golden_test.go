package wire

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

var (
	east   = time.FixedZone("east", 2*60*60)
	golden = leasehold.Lease{
		Resource: "deploy:prod", Holder: "ci:42", Token: 7, State: leasehold.StateActive,
		TTL: 1500 * time.Millisecond, Remaining: 250 * time.Millisecond,
		AcquiredAt: time.Date(2026, 1, 31, 14, 0, 0, 0, east), RenewedAt: time.Date(2026, 1, 31, 14, 0, 1, 5e8, east),
		ExpiresAt: time.Date(2026, 1, 31, 14, 0, 2, 0, east),
		Renewals:  3, MaxRenewals: leasehold.Unlimited, Metadata: map[string]string{"region": "us-east-1"},
	}
	goldenID, _ = leasehold.ParseID("11111111-2222-4333-8444-555555555555")
	otherID, _  = leasehold.ParseID("66666666-7777-4888-8999-aaaaaaaaaaaa")
)

const (
	goldenFields = `"resource":"deploy:prod","holder":"ci:42","token":7,"status":"active",` +
		`"ttl_seconds":1.5,"remaining_seconds":0.25,` +
		`"acquired_at":"2026-01-31T12:00:00Z","renewed_at":"2026-01-31T12:00:01.5Z","expires_at":"2026-01-31T12:00:02Z",` +
		`"renewals":3,"max_renewals":-1,"metadata":{"region":"us-east-1"}`
	goldenOwned = `"lease_id":"11111111-2222-4333-8444-555555555555",` + goldenFields
)

func owned() leasehold.Lease {
	l := golden
	l.ID = goldenID
	return l
}

func endless() leasehold.Lease {
	l := golden
	l.TTL, l.Remaining, l.ExpiresAt, l.Metadata = leasehold.Infinite, leasehold.Infinite, time.Time{}, nil
	return l
}

// several is a lease of several resources.
func several() leasehold.Lease {
	l := owned()
	l.Claims = append(leasehold.Resources("go.mod"), leasehold.Claim{Namespace: "repo", Pattern: "src/**", Mode: leasehold.Shared})
	l.Notes = []leasehold.Note{{From: "ci:41", Text: "tests fail"}}
	return l
}

const goldenSeveral = "{" + goldenOwned + `,"claims":[{"pattern":"go.mod","mode":"exclusive"},{"namespace":"repo","pattern":"src/**","mode":"shared"}],` +
	`"notes":[{"from":"ci:41","text":"tests fail"}]}`

func unowned(l leasehold.Lease) leasehold.Lease {
	l.ID = leasehold.ID{}
	return l
}

// The names on the wire are a promise: programs in other languages read them.
func TestGoldenAnswers(t *testing.T) {
	bound := leasehold.DefaultSettings()[0]
	toggle := leasehold.DefaultSettings()[1]
	record := leasehold.Record{Seq: 9, At: golden.AcquiredAt, Kind: leasehold.KindBroken, Resource: "r", Holder: "h", Token: 7,
		Before: leasehold.StateActive, After: leasehold.StateBroken, Renewals: 3, Why: "operator", Details: map[string]string{"by": "x"}}
	for _, c := range []struct {
		name string
		body any
		want string
	}{
		{"lease to its owner", FromLease(owned()), "{" + goldenOwned + "}"},
		{"lease to others", FromLease(golden), "{" + goldenFields + "}"},
		{"lease without an end", FromLease(endless()), `{"resource":"deploy:prod","holder":"ci:42","token":7,"status":"active",` +
			`"ttl_seconds":-1,"remaining_seconds":-1,"acquired_at":"2026-01-31T12:00:00Z","renewed_at":"2026-01-31T12:00:01.5Z",` +
			`"expires_at":null,"renewals":3,"max_renewals":-1,"metadata":{}}`},
		{"grant", FromGrant(leasehold.Grant{Lease: owned()}, false), "{" + goldenOwned + "}"},
		{"idempotent grant", FromGrant(leasehold.Grant{Lease: owned(), Idempotent: true}, false), "{" + goldenOwned + `,"idempotent":true}`},
		{"blocking grant", FromGrant(leasehold.Grant{Lease: owned(), Waited: 1999 * time.Microsecond}, true), "{" + goldenOwned + `,"waited_ms":1}`},
		{"blocking grant at once", FromGrant(leasehold.Grant{Lease: owned()}, true), "{" + goldenOwned + `,"waited_ms":0}`},
		{"blocking grant, time unknown", FromGrant(leasehold.Grant{Lease: owned(), Waited: leasehold.WaitUnknown}, true), "{" + goldenOwned + "}"},
		{"released", Released{Success: true, Lease: FromLease(owned())}, `{"success":true,` + goldenOwned + "}"},
		{"broken", Broken{Remaining: 2.5, Lease: FromLease(golden)}, `{"remaining_seconds":2.5,"lease":{` + goldenFields + "}}"},
		{"checked", Checked{Current: true, Status: "active", Token: 7}, `{"current":true,"status":"active","token":7}`},
		{"forced", Forced{Released: 2}, `{"released":2}`},
		{"cleaned", Cleaned{1, 2, 3}, `{"expired":1,"history_purged":2,"forgotten":3}`},
		{"list", FromLeasePage(leasehold.LeasePage{Leases: []leasehold.Lease{golden}, Cursor: "c"}), `{"leases":[{` + goldenFields + `}],"next_cursor":"c"}`},
		{"empty list", FromLeasePage(leasehold.LeasePage{}), `{"leases":[],"next_cursor":""}`},
		{"resource", FromStatus(leasehold.Status{Resource: "deploy:prod", Lease: &golden,
			Waiters: []leasehold.Place{{Holder: "w", Priority: 5, Since: golden.AcquiredAt, Position: 1}}}),
			`{"resource":"deploy:prod","locked":true,"lease":{` + goldenFields +
				`},"waiters":[{"holder":"w","priority":5,"since":"2026-01-31T12:00:00Z","position":1}]}`},
		{"lease of several", FromLease(several()), goldenSeveral},
		{"lease of several to others", FromLease(unowned(several())), strings.NewReplacer(`"lease_id":"`+goldenID.Reveal()+`",`, "", `,"notes":[{"from":"ci:41","text":"tests fail"}]`, "").Replace(goldenSeveral)},
		{"grant of several", FromGrant(leasehold.Grant{Lease: several(), Idempotent: true}, false), strings.TrimSuffix(goldenSeveral, "}") + `,"idempotent":true}`},
		{"shared resource", FromStatus(leasehold.Status{Resource: "deploy:prod", Lease: &golden, Leases: []leasehold.Lease{golden, golden}}),
			`{"resource":"deploy:prod","locked":true,"lease":{` + goldenFields + `},"leases":[{` + goldenFields + `},{` + goldenFields + `}],"waiters":[]}`},
		{"unknown resource", FromStatus(leasehold.Status{Resource: "r"}), `{"resource":"r","locked":false,"lease":null,"waiters":[]}`},
		{"history", FromHistoryPage(leasehold.HistoryPage{Records: []leasehold.Record{record}, Cursor: "c"}),
			`{"history":[{"seq":9,"at":"2026-01-31T12:00:00Z","event":"broken","resource":"r","holder":"h","token":7,` +
				`"status_before":"active","status_after":"broken","renewals":3,"reason":"operator","details":{"by":"x"}}],"next_cursor":"c"}`},
		{"empty history", FromHistoryPage(leasehold.HistoryPage{}), `{"history":[],"next_cursor":""}`},
		{"integer setting", FromSetting(bound), `{"key":"acquisition_timeout_ms","value":30000,"default":30000,"type":"integer",` +
			`"description":"` + bound.Description + `","min":0,"max":86400000,"requires_restart":false}`},
		{"boolean setting", FromSetting(toggle), `{"key":"auto_expire_enabled","value":true,"default":true,"type":"boolean",` +
			`"description":"` + toggle.Description + `","requires_restart":false}`},
	} {
		checkGolden(t, c.name, c.body, c.want)
	}
}

func TestGoldenProblems(t *testing.T) {
	held := &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Resource: "deploy:prod", Store: "sqlite",
		Current: new(owned()), Waiting: 2, RetryAfter: 250 * time.Millisecond}
	checkGolden(t, "held", FromError(held), `{"type":"/docs#lease_held","title":"Conflict","status":409,`+
		`"detail":"acquire \"deploy:prod\": held by \"ci:42\" (token 7) for another 250ms; 2 waiting; try again in 250ms","code":"lease_held",`+
		`"operation":"acquire","resource":"deploy:prod","store":"sqlite","current":{`+goldenFields+`},"retry_after_seconds":0.25,"queue_length":2}`)

	claim := leasehold.Claim{Namespace: "repo", Pattern: "src/**"}
	overlap := &leasehold.Error{Reason: leasehold.ReasonHeld, Op: "acquire", Reserved: "ci:43",
		Overlap: &leasehold.Overlap{Requested: leasehold.Claim{Namespace: "repo", Pattern: "**/x", Mode: leasehold.Shared}, Held: claim, Part: "src/**/x"}}
	checkGolden(t, "kept", FromError(overlap), `{"type":"/docs#lease_held","title":"Conflict","status":409,"detail":`+quoted(t, overlap.Error())+`,"code":"lease_held",`+
		`"operation":"acquire","overlap":{"requested":{"namespace":"repo","pattern":"**/x","mode":"shared"},"held":{"namespace":"repo","pattern":"src/**","mode":"exclusive"},`+
		`"part":"src/**/x"},"reserved_for":"ci:43"}`)

	deadlock := &leasehold.Error{Reason: leasehold.ReasonDeadlock, Op: "acquire", Cycle: []leasehold.WaitEdge{
		{Holder: "a", Claim: claim, HeldBy: "b"}, {Holder: "b", Claim: leasehold.Claim{Pattern: "x"}, HeldBy: "a"}}}
	checkGolden(t, "deadlock", FromError(deadlock), `{"type":"/docs#deadlock","title":"Conflict","status":409,"detail":`+quoted(t, deadlock.Error())+`,"code":"deadlock",`+
		`"operation":"acquire","cycle":[{"holder":"a","claim":{"namespace":"repo","pattern":"src/**","mode":"exclusive"},"held_by":"b"},`+
		`{"holder":"b","claim":{"pattern":"x","mode":"exclusive"},"held_by":"a"}]}`)

	timeout := &leasehold.Error{Reason: leasehold.ReasonTimeout, Op: "acquire", Resource: "r", Waited: 1500 * time.Millisecond}
	checkGolden(t, "timeout", FromError(timeout), `{"type":"/docs#acquire_timeout","title":"Conflict","status":409,`+
		`"detail":"acquire \"r\": still held by another after waiting 1.5s; ask again, or wait longer","code":"acquire_timeout",`+
		`"operation":"acquire","resource":"r","waited_ms":1500}`)

	breaking := &leasehold.Error{Reason: leasehold.ReasonBreaking, Op: "renew", Remaining: 2500 * time.Millisecond}
	checkGolden(t, "breaking", FromError(breaking), `{"type":"/docs#lease_breaking","title":"Conflict","status":409,`+
		`"detail":"renew: the lease is being broken and ends in 2.5s; finish the work, or try again to acquire it then","code":"lease_breaking",`+
		`"operation":"renew","remaining_seconds":2.5}`)

	invalid := &leasehold.Error{Reason: leasehold.ReasonInvalid, Field: "holder", Problem: "is empty"}
	checkGolden(t, "invalid", FromError(invalid), `{"type":"/docs#invalid_argument","title":"Bad Request","status":400,`+
		`"detail":"holder is empty","code":"invalid_argument","field":"holder","problem":"is empty"}`)

	down := &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "renew", Cause: errors.New("disk full")}
	checkGolden(t, "unavailable", FromError(down), `{"type":"/docs#store_unavailable","title":"Service Unavailable","status":503,`+
		`"detail":"renew: the store is unavailable; nothing was changed, try again later: disk full","code":"store_unavailable","operation":"renew"}`)
}

func TestGoldenRequests(t *testing.T) {
	full := leasehold.AcquireRequest{Resource: "r", Holder: "h", ID: goldenID, TTL: 90 * time.Second, MaxRenewals: new(3),
		Metadata: map[string]string{"k": "v"}, Priority: -5, Timeout: 2 * time.Second}
	bare := leasehold.AcquireRequest{Resource: "r", Holder: "h"}
	id, other := goldenID.Reveal(), otherID.Reveal()
	for _, c := range []struct {
		name string
		body any
		want string
	}{
		{"acquire", FromAcquire(bare, false), `{"resource":"r","holder":"h"}`},
		{"full acquire", FromAcquire(full, true), `{"resource":"r","holder":"h","ttl_seconds":90,"lease_id":"` + id +
			`","metadata":{"k":"v"},"max_renewals":3,"blocking":true,"timeout_ms":2000,"priority":-5}`},
		{"wait by default", FromAcquire(bare, true), `{"resource":"r","holder":"h","blocking":true}`},
		{"renew", FromRenew(leasehold.RenewRequest{ID: goldenID, TTL: leasehold.Infinite, Holder: "h", Token: 7}),
			`{"lease_id":"` + id + `","ttl_seconds":-1,"holder":"h","token":7}`},
		{"release", FromRelease(leasehold.ReleaseRequest{ID: goldenID, Resource: "r", Why: "done"}),
			`{"lease_id":"` + id + `","resource":"r","reason":"done"}`},
		{"change", FromChange(leasehold.ChangeRequest{ID: goldenID, Proposed: otherID}),
			`{"lease_id":"` + id + `","proposed_lease_id":"` + other + `"}`},
		{"transfer", FromTransfer(leasehold.TransferRequest{ID: goldenID, To: "x"}), `{"lease_id":"` + id + `","to_holder":"x"}`},
		{"transfer that empties the metadata", FromTransfer(leasehold.TransferRequest{ID: goldenID, To: "x", Proposed: otherID, Metadata: map[string]string{}}),
			`{"lease_id":"` + id + `","to_holder":"x","proposed_lease_id":"` + other + `","metadata":{}}`},
		{"acquire of several", FromAcquire(leasehold.AcquireRequest{Claims: several().Claims, Holder: "h", Sequence: true}, false),
			`{"claims":[{"pattern":"go.mod","mode":"exclusive"},{"namespace":"repo","pattern":"src/**","mode":"shared"}],"holder":"h","sequence":true}`},
		{"acquire in other words", AcquireRequest{Resources: []string{"a"}, Mode: "shared", Namespace: "n", Paths: []Path{{"p", "shared"}, {Pattern: "q"}}, Holder: "h"},
			`{"resources":["a"],"mode":"shared","namespace":"n","paths":[{"pattern":"p","mode":"shared"},{"pattern":"q"}],"holder":"h"}`},
		{"release with a note", FromRelease(leasehold.ReleaseRequest{ID: goldenID, Note: "n"}), `{"lease_id":"` + id + `","note":"n"}`},
		{"transfer with a note", FromTransfer(leasehold.TransferRequest{ID: goldenID, To: "x", Note: "n"}), `{"lease_id":"` + id + `","to_holder":"x","note":"n"}`},
		{"break", FromBreak(leasehold.BreakRequest{Resource: "r"}), `{"resource":"r"}`},
		{"break at once", FromBreak(leasehold.BreakRequest{Resource: "r", Period: new(time.Duration(0)), Why: "w"}),
			`{"resource":"r","break_period_seconds":0,"reason":"w"}`},
		{"check", CheckRequest{Resource: "r", Token: 7}, `{"resource":"r","token":7}`},
		{"set", SetRequest{Value: 60}, `{"value":60}`},
	} {
		checkGolden(t, c.name, c.body, c.want)
	}
}

func quoted(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func checkGolden(t *testing.T, name string, body any, want string) {
	t.Helper()
	got, err := json.Marshal(body)
	if err != nil {
		t.Fatalf("%s: Marshal = %v, want success", name, err)
	}
	// Byte by byte: the order is part of what people read. encoding/json
	// escapes nothing in these.
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}
