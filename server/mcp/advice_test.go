package mcp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// TestAdvice: each refusal names the next step; only a conflict is no error.
func TestAdvice(t *testing.T) {
	const id = "00000000-0000-4000-8000-000000000001"
	own := &leasehold.Lease{Resource: "r", Holder: "anna", State: leasehold.StateActive, Remaining: time.Minute}
	for _, tt := range []struct {
		tool    string
		err     error
		next    string
		isError bool
	}{
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonHeld}, `lease_id "` + id + `"`, false},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonTimeout}, "Still queued. Call lease_acquire again", false},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonHeld, Current: own}, "If the lease_id is lost", false},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonDeadlock}, "Release what you hold", false},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonIDInUse}, "without lease_id", false},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonUnsupported}, "one resource", true},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonBlockingDisabled}, "without wait_seconds", true},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonUnavailable}, "again later", true},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonTooMany}, "Release leases that you do not need", true},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonUnknown}, id, true},
		{"lease_acquire", &leasehold.Error{Reason: leasehold.ReasonExpired}, "used before", true},
		{"lease_acquire", errors.New("what no store should say"), "that is safe", true},
		{"lease_acquire", errNoHolder, HolderHeader, true},
		{"lease_renew", &leasehold.Error{Reason: leasehold.ReasonExpired}, "stop changing", true},
		{"lease_renew", &leasehold.Error{Reason: leasehold.ReasonMaxRenewals}, "cannot be renewed any more", true},
		{"lease_renew", &leasehold.Error{Reason: leasehold.ReasonHolderMismatch}, "not yours", true},
		{"lease_release", &leasehold.Error{Reason: leasehold.ReasonExpired}, "Nothing is left to release", true},
		{"lease_release", &leasehold.Error{Reason: leasehold.ReasonUnsupported}, "without note", true},
		{"lease_status", &leasehold.Error{Reason: leasehold.ReasonUnauthenticated}, "valid one", true},
		{"lease_history", &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: time.Second}, "again in 1s", true},
		{"lease_history", &leasehold.Error{Reason: leasehold.ReasonUnsupported}, "cannot do it", true},
		{"lease_break", &leasehold.Error{Reason: leasehold.ReasonNotFound}, "no lease to break", true},
	} {
		s := New(nil, nil)
		c := &call{s: s, tool: tt.tool, op: operations[tt.tool], ctx: t.Context(),
			session: &session{identity: Identity{Holder: "anna", Caller: auth.Local}}}
		out, isError := c.refuse(Result{LeaseID: id}, tt.err)
		if !strings.Contains(out.NextStep, tt.next) || isError != tt.isError || out.Code == "" || out.Message == "" {
			t.Errorf("%s after %q = %+v, error %t, want %q, error %t", tt.tool, tt.err, out, isError, tt.next, tt.isError)
		}
	}
}

// TestArguments: bad arguments are refused by name, and change nothing.
func TestArguments(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end()
	a, _ := w.stream(Stream{Identity: Identity{Holder: "anna"}}, "")
	for _, tt := range []struct {
		tool, field string
		in          args
	}{
		{"lease_acquire", "resources", args{}},
		{"lease_acquire", "namespace", args{"paths": []string{"a"}}},
		{"lease_acquire", "resources", args{"resources": []string{""}}},
		{"lease_acquire", "resources", args{"resources": []string{"r", "r"}}},
		{"lease_acquire", "resources", args{"resources": []string{"blob:x"}}},
		{"lease_acquire", "resources", args{"resources": []string{leasehold.HealthPrefix + "x"}}},
		{"lease_acquire", "paths", args{"paths": []string{"/a"}, "namespace": "n"}},
		{"lease_acquire", "mode", args{"resources": []string{"r"}, "mode": "loud"}},
		{"lease_acquire", "ttl_seconds", args{"resources": []string{"r"}, "ttl_seconds": 0.5}},
		{"lease_acquire", "ttl_seconds", args{"resources": []string{"r"}, "ttl_seconds": -1}},
		{"lease_acquire", "ttl_seconds", args{"resources": []string{"r"}, "ttl_seconds": 1e300}},
		{"lease_acquire", "wait_seconds", args{"resources": []string{"r"}, "wait_seconds": -1}},
		{"lease_acquire", "wait_seconds", args{"resources": []string{"r"}, "wait_seconds": 1e300}},
		{"lease_acquire", "wait_seconds", args{"resources": []string{"r"}, "wait_seconds": "50"}},
		{"lease_acquire", "lease_id", args{"resources": []string{"r"}, "lease_id": "mine"}},
		{"lease_acquire", "metadata", args{"resources": []string{"r"}, "task": strings.Repeat("x", 2000)}},
		{"lease_renew", "lease_id", args{}},
		{"lease_renew", "lease_id", args{"lease_id": ""}},
		{"lease_release", "note", args{"lease_id": leasehold.NewID().Reveal(), "note": strings.Repeat("x", 5000)}},
		{"lease_status", "resource", args{"resource": "r", "mine": true}},
		{"lease_status", "resource", args{"resource": strings.Repeat("x", 2000)}},
		{"lease_status", "limit", args{"limit": 101}},
		{"lease_status", "namespace", args{"path": "a"}},
		{"lease_history", "event", args{"event": "eaten"}},
		{"lease_history", "limit", args{"limit": 1000}},
		{"lease_history", "since_seconds", args{"since_seconds": 1e300}},
		{"lease_break", "reason", args{"resource": "r"}},
		{"lease_break", "reason", args{"resource": "r", "reason": ""}},
		{"lease_break", "break_period_seconds", args{"resource": "r", "reason": "x", "break_period_seconds": 61}},
		{"lease_break", "break_period_seconds", args{"resource": "r", "reason": "x", "break_period_seconds": 1e300}},
	} {
		r := a.failure(tt.tool, tt.in)
		if !strings.Contains(r.Message, tt.field) || r.Code != "" && r.Code != "invalid_argument" {
			t.Errorf("%s(%.80v) = %+v, want that %s is refused", tt.tool, tt.in, r, tt.field)
		}
	}
	page, err := w.store.(leasehold.Lister).List(t.Context(), leasehold.ListRequest{})
	if err != nil || len(page.Leases) > 0 {
		t.Errorf("leases after it all: %+v, %v, want none", page.Leases, err)
	}
}

// TestReading: status and history, page by page.
func TestReading(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end()
	anna, _ := w.stream(Stream{Identity: Identity{Holder: "anna"}}, "")
	ben, _ := w.stream(Stream{Identity: Identity{Holder: "ben"}}, "")
	if r := anna.call("lease_status", args{"resource": "a"}); r.Status != "available" || r.Granted || !strings.Contains(r.NextStep, "free") {
		t.Errorf("status of a free resource = %+v", r)
	}
	mine := anna.call("lease_acquire", args{"resources": []string{"a"}, "task": "tidy"})
	ben.call("lease_acquire", args{"resources": []string{"b"}})
	if r := anna.call("lease_status", args{"resource": "a"}); !r.Granted || r.LeaseID != mine.LeaseID || r.HeldFor != "tidy" {
		t.Errorf("anna's status of her own = %+v, want it with its id", r)
	}
	if r := ben.call("lease_status", args{"resource": "a"}); r.Granted || r.LeaseID != "" || r.Leases[0].LeaseID != "" || r.HeldBy != "anna" || !strings.Contains(r.NextStep, "wait_seconds") {
		t.Errorf("ben's status of anna's = %+v, want it without the id", r)
	}
	if r := ben.call("lease_status", args{"mine": true}); len(r.Leases) != 1 || r.Leases[0].Resource != "b" || r.Leases[0].LeaseID == "" {
		t.Errorf("ben's own = %+v, want b with its id", r)
	}
	first := ben.call("lease_status", args{"limit": 1})
	second := ben.call("lease_status", args{"limit": 1, "cursor": first.NextCursor})
	if len(first.Leases) != 1 || first.NextCursor == "" || len(second.Leases) != 1 || second.Leases[0].Resource != "b" {
		t.Errorf("pages = %+v and %+v, want a and b", first, second)
	}
	anna.call("lease_release", args{"lease_id": mine.LeaseID})
	all := ben.call("lease_history", args{"since_seconds": 3600})
	if len(all.History) != 3 || all.History[0].Event != "released" || all.History[0].Holder != "anna" {
		t.Errorf("history = %+v, want three records, the release first", all.History)
	}
	page := ben.call("lease_history", args{"limit": 2})
	if rest := ben.call("lease_history", args{"limit": 2, "cursor": page.NextCursor}); len(page.History) != 2 || len(rest.History) != 1 || !strings.Contains(page.NextStep, "next_cursor") {
		t.Errorf("pages of the history = %+v and %+v", page, rest)
	}
	if r := ben.call("lease_history", args{"mine": true, "event": "acquired"}); len(r.History) != 1 || r.History[0].Resource != "b" {
		t.Errorf("ben's history = %+v", r.History)
	}
}

// TestSecret: a lease id that another holder's session has is in no answer to anybody
// else, nor in the log.
func TestSecret(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end() // which searches the log
	anna := w.web(auth.Local, holderHeader("anna"), "")
	ben := w.web(auth.Local, holderHeader("ben"), "")
	secret := anna.call("lease_acquire", args{"resources": []string{"r"}}).LeaseID
	for tool, in := range map[string]args{
		"lease_acquire": {"resources": []string{"r"}, "wait_seconds": 0.05}, "lease_status": {"resource": "r"}, "lease_history": {},
		"lease_release": {"lease_id": secret}, "lease_renew": {"lease_id": secret}, "lease_break": {"resource": "r", "reason": "x"},
	} {
		out, _, err := ben.try(t.Context(), tool, in)
		if err != nil || strings.Contains(strings.ToLower(out.Message+out.NextStep+out.LeaseID), secret) {
			t.Errorf("%s of another = %+v, %v, want no lease id of anna's", tool, out, err)
		}
	}
	if secret == "" {
		t.Error("the owner got no lease id")
	}
}
