package wire

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

func TestAliases(t *testing.T) {
	const id = `"lease_id":"11111111-2222-4333-8444-555555555555"`
	for _, c := range []struct {
		name, acquire string
		holder        string
		ttl           time.Duration
		field         string // of the error
	}{
		{name: "the names", acquire: `{"holder":"h","ttl_seconds":90}`, holder: "h", ttl: 90 * time.Second},
		{name: "the aliases", acquire: `{"agent_id":"h","duration":90}`, holder: "h", ttl: 90 * time.Second},
		{name: "both, the same", acquire: `{"holder":"h","agent_id":"h","ttl_seconds":90,"duration":90}`, holder: "h", ttl: 90 * time.Second},
		{name: "neither", acquire: `{}`},
		{name: "a fraction", acquire: `{"duration":1.0019}`, ttl: 1001 * time.Millisecond},
		{name: "no end", acquire: `{"duration":-1}`, ttl: leasehold.Infinite},
		{name: "two holders", acquire: `{"holder":"h","agent_id":"other"}`, field: "agent_id"},
		{name: "two lengths", acquire: `{"ttl_seconds":90,"duration":91}`, field: "duration"},
		{name: "too short", acquire: `{"ttl_seconds":0}`, field: "ttl_seconds"},
		{name: "too short by its alias", acquire: `{"duration":0.5}`, field: "duration"},
	} {
		acquire := parse[AcquireRequest](t, c.acquire)
		a, _, err := acquire.Request()
		checkAlias(t, c.name+" of an acquire", a.Holder, a.TTL, err, c.holder, c.ttl, c.field)

		renew := parse[RenewRequest](t, c.acquire)
		renew.LeaseID = goldenID.Reveal()
		r, err := renew.Request()
		checkAlias(t, c.name+" of a renew", r.Holder, r.TTL, err, c.holder, c.ttl, c.field)
	}
	release, err := parse[ReleaseRequest](t, `{`+id+`,"agent_id":"h"}`).Request()
	checkAlias(t, "alias of a release", release.Holder, 0, err, "h", 0, "")
	_, err = parse[ReleaseRequest](t, `{`+id+`,"agent_id":"h","holder":"i"}`).Request()
	checkAlias(t, "two holders of a release", "", 0, err, "", 0, "agent_id")
}

func parse[T any](t *testing.T, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("Unmarshal(%s) = %v, want success", text, err)
	}
	return v
}

func checkAlias(t *testing.T, name, holder string, ttl time.Duration, err error, wantHolder string, wantTTL time.Duration, field string) {
	t.Helper()
	if field != "" {
		checkField(t, name, err, field)
		return
	}
	if err != nil || holder != wantHolder || ttl != wantTTL {
		t.Errorf("%s = %q, %v, %v; want %q, %v", name, holder, ttl, err, wantHolder, wantTTL)
	}
}

func checkField(t *testing.T, name string, err error, field string) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || e.Reason != leasehold.ReasonInvalid || e.Field != field || e.Problem == "" {
		t.Errorf("%s = %v, want ErrInvalid that names %q", name, err, field)
	}
}

// validated is the error of a request as the server finds it.
func validated[R interface{ Validate() error }](r R, err error) error {
	if err != nil {
		return err
	}
	return r.Validate()
}

func TestInvalidRequests(t *testing.T) {
	const id = `"lease_id":"11111111-2222-4333-8444-555555555555"`
	acquire := func(text string) error { _, _, err := parse[AcquireRequest](t, text).Request(); return err }
	renew := func(text string) error { return validated(parse[RenewRequest](t, text).Request()) }
	release := func(text string) error { return validated(parse[ReleaseRequest](t, text).Request()) }
	change := func(text string) error { return validated(parse[ChangeRequest](t, text).Request()) }
	transfer := func(text string) error { return validated(parse[TransferRequest](t, text).Request()) }
	breaks := func(text string) error { _, err := parse[BreakRequest](t, text).Request(); return err }
	get := func(text string) error { _, err := parse[GetRequest](t, text).Request(); return err }
	for _, c := range []struct {
		name  string
		err   error
		field string
	}{
		{"acquire with half an id", acquire(`{"lease_id":"1111"}`), "lease_id"},
		{"acquire with a timeout below 0", acquire(`{"timeout_ms":-1}`), "timeout_ms"},
		{"acquire with a timeout above a day", acquire(`{"timeout_ms":86400001}`), "timeout_ms"},
		{"renew without an id", renew(`{}`), "lease_id"},
		{"release without an id", release(`{}`), "lease_id"},
		{"release with the zero id", release(`{"lease_id":"00000000-0000-0000-0000-000000000000"}`), "lease_id"},
		{"change without an id", change(`{}`), "lease_id"},
		{"change without a proposal", change(`{` + id + `}`), "proposed_lease_id"},
		{"transfer without an id", transfer(`{}`), "lease_id"},
		{"transfer with half a proposal", transfer(`{` + id + `,"proposed_lease_id":"x"}`), "proposed_lease_id"},
		{"break for less than nothing", breaks(`{"break_period_seconds":-0.5}`), "break_period_seconds"},
		{"break for too long", breaks(`{"break_period_seconds":60.5}`), "break_period_seconds"},
		{"change with half a proposal and no id", change(`{"proposed_lease_id":"x"}`), "lease_id"},
		{"transfer with half a proposal and no id", transfer(`{"proposed_lease_id":"x"}`), "lease_id"},
		{"get without an id", get(`{}`), "lease_id"},
	} {
		checkField(t, c.name, c.err, c.field)
	}
}

// The forms in which a request says what it wants.
func TestForms(t *testing.T) {
	type claims = []leasehold.Claim
	shared := leasehold.Shared
	for _, c := range []struct {
		body     string
		resource string
		claims   claims
		field    string // of the error
	}{
		{body: `"resource":"r"`, resource: "r"},
		{body: `"resource":"r","mode":"exclusive"`, resource: "r"},
		{body: `"file_path":"r","mode":"shared"`, claims: claims{{Pattern: "r", Mode: shared}}},
		{body: `"resources":["a","*"]`, claims: leasehold.Resources("a", "*")},
		{body: `"resources":["a"]`, claims: leasehold.Resources("a")},
		{body: `"resources":["a"],"mode":"shared"`, claims: claims{{Pattern: "a", Mode: shared}}},
		{body: `"namespace":"n","paths":[{"pattern":"a/**"},{"pattern":"b","mode":"shared"}]`,
			claims: claims{{Namespace: "n", Pattern: "a/**"}, {Namespace: "n", Pattern: "b", Mode: shared}}},
		{body: `"namespace":"n","paths":[{"pattern":"b"}],"resources":["a"],"mode":"shared"`,
			claims: claims{{Pattern: "a", Mode: shared}, {Namespace: "n", Pattern: "b"}}},
		{body: `"claims":[{"namespace":"n","pattern":"b"},{"pattern":"a","mode":"shared"},{"namespace":"m","pattern":"b","mode":"exclusive"}]`,
			claims: claims{{Namespace: "n", Pattern: "b"}, {Pattern: "a", Mode: shared}, {Namespace: "m", Pattern: "b"}}},

		{body: `"resource":"r","resources":["a"]`, field: "resources"},
		{body: `"file_path":"r","resources":["a"]`, field: "resources"},
		{body: `"resource":"r","namespace":"n","paths":[{"pattern":"b"}]`, field: "paths"},
		{body: `"paths":[{"pattern":"b"}]`, field: "namespace"},
		{body: `"paths":[{"pattern":"b"}],"resources":["a"]`, field: "namespace"},
		{body: `"resource":"r","namespace":"n"`, field: "namespace"},
		{body: `"resources":["r"],"namespace":"n"`, field: "namespace"},
		{body: `"mode":"shared","namespace":"n","paths":[{"pattern":"b"}]`, field: "mode"},
		{body: `"resource":"r","mode":"Shared"`, field: "mode"},
		{body: `"resources":["r"],"mode":"write"`, field: "mode"},
		{body: `"namespace":"n","paths":[{"pattern":"b","mode":"write"}]`, field: "mode"},
		{body: `"claims":[{"pattern":"b","mode":"write"}]`, field: "mode"},
		{body: `"claims":[{"pattern":"b"}],"resource":"r"`, field: "claims"},
		{body: `"claims":[{"pattern":"b"}],"resources":["r"]`, field: "claims"},
		{body: `"claims":[{"pattern":"b"}],"namespace":"n"`, field: "claims"},
		{body: `"claims":[{"pattern":"b"}],"mode":"shared"`, field: "claims"},

		// What the rules of the values refuse.
		{body: `"mode":"shared"`, field: "resource"},
		{body: `"resources":["__set__7"]`, field: "resources"},
		{body: `"resources":["a","a"]`, field: "resources"},
		{body: `"resources":[""]`, field: "resources"},
		{body: `"namespace":"n","paths":[{"pattern":"a**"}]`, field: "paths"},
	} {
		r, _, err := parse[AcquireRequest](t, `{"holder":"h",`+c.body+`}`).Request()
		if err == nil {
			err = r.ValidateAll()
		}
		if c.field != "" {
			checkField(t, c.body, err, c.field)
			continue
		}
		if diff := cmp.Diff(c.claims, r.Claims); err != nil || r.Resource != c.resource || diff != "" {
			t.Errorf("Request(%s) = %q, %v (-want +got):\n%s", c.body, r.Resource, err, diff)
		}
	}
}

// A timeout of 0 does not wait, whatever blocking says.
func TestTimeoutZeroDoesNotWait(t *testing.T) {
	for text, want := range map[string]bool{
		`{"blocking":true}`:                 true,
		`{"blocking":true,"timeout_ms":0}`:  false,
		`{"blocking":true,"timeout_ms":1}`:  true,
		`{"blocking":false,"timeout_ms":1}`: false,
	} {
		if _, wait, err := parse[AcquireRequest](t, text).Request(); wait != want || err != nil {
			t.Errorf("Request(%s) waits: %v, %v; want %v", text, wait, err, want)
		}
	}
	for timeout, want := range map[time.Duration]int64{
		1: 1, time.Millisecond: 1, time.Millisecond + 1: 2, leasehold.MaxTimeout - 1: 86_400_000, leasehold.MaxTimeout: 86_400_000,
	} {
		w := FromAcquire(leasehold.AcquireRequest{Timeout: timeout}, true)
		if w.TimeoutMS == nil || *w.TimeoutMS != want {
			t.Errorf("FromAcquire(a timeout of %v) does not wait for %d ms", timeout, want)
		}
	}
}

// Answers from a newer server, or from no server at all.
func TestAnswersThatCannotBeRead(t *testing.T) {
	strange := Lease{Status: "melted"}
	_, page := Leases{Leases: []Lease{strange}}.Page()
	_, status := Resource{Lease: &strange}.Status()
	_, before := History{History: []Record{{Before: "melted", After: "active"}}}.Page()
	_, after := Record{Before: "active", After: "melted"}.Record()
	_, grant := Grant{Lease: strange}.Grant(false)
	_, id := Lease{Status: "active", LeaseID: "x"}.Lease()
	_, mode := Lease{Status: "active", Claims: []Claim{{Pattern: "a", Mode: "melted"}}}.Lease()
	_, several := Resource{Leases: []Lease{strange}}.Status()
	for name, err := range map[string]error{"page": page, "status": status, "before": before, "after": after, "grant": grant, "id": id, "mode": mode, "several": several} {
		if err == nil {
			t.Errorf("%s of a strange answer = success", name)
		}
	}
}
