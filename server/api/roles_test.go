package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

// sample is a path of the endpoint that can be asked for.
func sample(e *endpoint) string {
	return strings.NewReplacer("{resource}", "r", "{holder}", "h", "{key}", "max_renewals").Replace(e.Path)
}

func TestRoles(t *testing.T) {
	needs := map[string][]auth.Role{}
	for _, id := range []string{"acquire", "renew", "release", "change", "transfer", "get", "batch"} {
		needs[id] = []auth.Role{auth.RoleHolder}
	}
	for _, id := range []string{"break", "force_release", "cleanup", "set", "backup", "log_level", "set_log_level"} {
		needs[id] = []auth.Role{auth.RoleOperator}
	}
	for _, id := range []string{"list", "history", "history_at", "waits", "events", "settings", "metrics"} {
		needs[id] = []auth.Role{auth.RoleReader}
	}
	for _, id := range []string{"status", "resource", "check"} {
		needs[id] = []auth.Role{auth.RoleReader, auth.RoleHolder}
	}
	for _, id := range []string{"healthz", "live", "ready", "leasing", "openapi", "docs"} {
		needs[id] = nil
	}
	d := newDriver(t, plain{memory.New()}, nil) // whose streams end at once
	if len(needs) != len(d.server.endpoints) {
		t.Errorf("%d calls are listed here, the table has %d", len(needs), len(d.server.endpoints))
	}
	for _, e := range d.server.endpoints {
		roles, listed := needs[e.ID]
		if !listed {
			t.Errorf("%s is not listed here", e.ID)
		}
		for _, has := range []auth.Role{"", auth.RoleReader, auth.RoleHolder, auth.RoleOperator} {
			d.caller = auth.Caller{Name: "c", Roles: []auth.Role{has}}
			r := d.send(e.Method, sample(e), "")
			allowed := len(roles) == 0 || strings.Contains(fmt.Sprint(roles), string(has)) && has != ""
			if (r.status != http.StatusForbidden) != allowed {
				t.Errorf("%s as %q = %d, want it allowed: %v", r.request, has, r.status, allowed)
			}
			if !allowed {
				r.wantProblem(http.StatusForbidden, "forbidden")
			}
		}
	}
}

func TestNarrowTokens(t *testing.T) {
	d := newDriver(t, nil, nil)
	foreign := d.acquire("other:x", "b:1")
	d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"a:*"}, Resources: []string{"mine:*"}}
	for _, fields := range []string{`"resource":"mine:1","holder":"b:1"`, `"resource":"other:1","holder":"a:1"`} {
		d.send("POST", "/v1/leases/acquire", `{`+fields+`}`).wantProblem(http.StatusForbidden, "forbidden")
	}
	own := d.acquire("mine:1", "a:1")
	id := func(id string) string { return `{"lease_id":"` + id + `"` }
	calls := map[string]string{
		"renew": `}`, "get": `}`, "change": `,"proposed_lease_id":"` + otherID + `"}`, "transfer": `,"to_holder":"a:2"}`, "release": `}`,
	}
	for call, rest := range calls {
		r := d.send("POST", "/v1/leases/"+call, id(foreign.LeaseID)+rest)
		if p := r.wantProblem(http.StatusForbidden, "forbidden"); strings.Contains(p.Detail, "other:x") {
			t.Errorf("%s = %s tells whose lease it is", r.request, r.body)
		}
		p := d.send("POST", "/v1/leases/"+call, id("77777777-2222-4333-8444-555555555555")+rest).wantProblem(http.StatusNotFound, "lease_not_found")
		if p.Operation == "find" && call != "get" {
			t.Errorf("%s: operation = find, want the call's own", call)
		}
	}
	want[wire.Lease](d.send("POST", "/v1/leases/renew", id(own.LeaseID)+`}`), http.StatusOK)
	want[wire.Lease](d.send("POST", "/v1/leases/get", id(own.LeaseID)+`}`), http.StatusOK)
	moved := want[wire.Lease](d.send("POST", "/v1/leases/transfer", id(own.LeaseID)+`,"to_holder":"b:9"}`), http.StatusOK)
	d.send("POST", "/v1/leases/release", id(moved.LeaseID)+`}`).wantProblem(http.StatusForbidden, "forbidden")

	d.status("mine:anything")
	d.send("GET", "/v1/leases/other:x", "").wantProblem(http.StatusForbidden, "forbidden")
	d.send("POST", "/v1/leases/check", `{"resource":"other:x","token":1}`).wantProblem(http.StatusForbidden, "forbidden")
	d.caller.Roles = append(d.caller.Roles, auth.RoleReader)
	d.status("other:x")
}

// TestNarrowTokensRepeat: a change or transfer whose answer was lost is answered
// again, also to a caller who may act for some holders only. The id that it shows
// is the old one, and after a transfer so is the holder.
func TestNarrowTokensRepeat(t *testing.T) {
	const changed, moved = "77777777-2222-4333-8444-555555555551", "77777777-2222-4333-8444-555555555552"
	d := newDriver(t, nil, nil)
	foreign := d.acquire("mine:2", "b:1")
	d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"a:*"}, Resources: []string{"mine:*"}}
	own := d.acquire("mine:1", "a:1")
	twice := func(call, body string) wire.Lease {
		first := want[wire.Lease](d.send("POST", "/v1/leases/"+call, body), http.StatusOK)
		second := want[wire.Lease](d.send("POST", "/v1/leases/"+call, body), http.StatusOK)
		first.Remaining, second.Remaining = 0, 0
		if diff := cmp.Diff(first, second, cmpopts.EquateApproxTime(time.Second)); diff != "" {
			t.Errorf("%s, repeated, differs (-first +second):\n%s", call, diff)
		}
		return second
	}
	twice("change", `{"lease_id":"`+own.LeaseID+`","proposed_lease_id":"`+changed+`"}`)
	twice("change", `{"lease_id":"`+changed+`","proposed_lease_id":"`+otherID+`","holder":"a:1","token":`+fmt.Sprint(own.Token)+`}`)
	hand := `{"lease_id":"` + otherID + `","to_holder":"b:9","proposed_lease_id":"` + moved + `","holder":"a:1"}`
	if l := twice("transfer", hand); l.Holder != "b:9" || l.Token <= own.Token {
		t.Errorf("transfer = %+v, want a new grant to b:9", l)
	}

	// What was not carried out is not found.
	for call, body := range map[string]string{
		"a change to somebody else's id":  `{"lease_id":"` + own.LeaseID + `","proposed_lease_id":"` + foreign.LeaseID + `"}`,
		"a change from an id of nobody's": `{"lease_id":"` + own.LeaseID + `","proposed_lease_id":"` + changed + `"}`,
	} {
		if p := d.send("POST", "/v1/leases/change", body).wantProblem(http.StatusNotFound, "lease_not_found"); p.Operation != "change" {
			t.Errorf("%s: operation = %s, want change", call, p.Operation)
		}
	}
	for call, body := range map[string]string{
		"a transfer to another":             strings.Replace(hand, "b:9", "b:8", 1),
		"a transfer of somebody else's":     `{"lease_id":"` + own.LeaseID + `","to_holder":"b:1","proposed_lease_id":"` + foreign.LeaseID + `"}`,
		"a transfer that proposed no id":    `{"lease_id":"` + otherID + `","to_holder":"b:9"}`,
		"a transfer to an id of nobody's":   `{"lease_id":"` + otherID + `","to_holder":"b:9","proposed_lease_id":"` + changed + `"}`,
		"a transfer from an id of nobody's": `{"lease_id":"` + changed + `","to_holder":"b:9","proposed_lease_id":"` + moved + `"}`,
	} {
		if p := d.send("POST", "/v1/leases/transfer", body).wantProblem(http.StatusNotFound, "lease_not_found"); p.Operation != "transfer" {
			t.Errorf("%s: operation = %s, want transfer", call, p.Operation)
		}
	}
	d.caller = auth.Local
	if l := want[wire.Lease](d.send("POST", "/v1/leases/get", `{"lease_id":"`+foreign.LeaseID+`"}`), http.StatusOK); l.Holder != "b:1" || l.Status != "active" {
		t.Errorf("somebody else's lease is now %+v", l)
	}
}

// TestSentValuesMustMatch: a holder, a token or a resource that is sent counts,
// be it empty or 0. Nothing is done that its sender did not mean.
func TestSentValuesMustMatch(t *testing.T) {
	d := newDriver(t, nil, nil)
	own := d.acquire("r", "a")
	for call, rest := range map[string]string{
		"renew": ``, "release": ``, "change": `,"proposed_lease_id":"` + otherID + `"`, "transfer": `,"to_holder":"b"`,
	} {
		for field, value := range map[string]string{"holder": `""`, "token": `0`, "resource": `""`, "agent_id": `""`, "file_path": `""`} {
			body := `{"lease_id":"` + own.LeaseID + `"` + rest + `,"` + field + `":` + value + `}`
			p := d.send("POST", "/v1/leases/"+call, body).wantProblem(http.StatusBadRequest, "invalid_argument")
			if p.Field != field {
				t.Errorf("%s with %s %s: field = %q", call, field, value, p.Field)
			}
		}
	}
	d.send("POST", "/v1/leases/transfer", `{"lease_id":"`+own.LeaseID+`","to_holder":"b","proposed_lease_id":""}`).wantProblem(http.StatusBadRequest, "invalid_argument")
	answers := want[wire.BatchAnswer](d.send("POST", "/v1/leases/batch", `{"operations":[
		{"op":"renew","request":{"lease_id":"`+own.LeaseID+`","token":0}},
		{"op":"release","request":{"lease_id":"`+own.LeaseID+`","holder":""}}]}`), http.StatusOK)
	for i, a := range answers.Answers {
		if a.Status != http.StatusBadRequest {
			t.Errorf("operation %d = %d, want 400", i, a.Status)
		}
	}
	if s := d.status("r"); s.Lease == nil || s.Lease.Token != own.Token || s.Lease.Renewals != 0 || s.Lease.Status != "active" {
		t.Errorf("the lease is now %+v, want it untouched", s.Lease)
	}
	want[wire.Lease](d.send("POST", "/v1/leases/renew", `{"lease_id":"`+own.LeaseID+`","holder":null,"token":null,"file_path":"r"}`), http.StatusOK)
}

// TestFilePath: another name for the resource.
func TestFilePath(t *testing.T) {
	d := newDriver(t, nil, nil)
	g := want[wire.Grant](d.send("POST", "/v1/leases/acquire", `{"file_path":"src/main.go","agent_id":"a"}`), http.StatusCreated)
	if g.Resource != "src/main.go" {
		t.Errorf("acquire = %+v, want the resource src/main.go", g)
	}
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","file_path":"src/other.go"}`).wantProblem(http.StatusNotFound, "lease_not_found")
	want[wire.Released](d.send("POST", "/v1/leases/release", `{"lease_id":"`+g.LeaseID+`","file_path":"src/main.go","resource":"src/main.go"}`), http.StatusOK)
}

func TestNarrowTokensWithoutFinder(t *testing.T) {
	d := newDriver(t, plain{memory.New()}, nil)
	d.caller.Holders = []string{"a"}
	g := d.acquire("r", "a")
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`"}`).wantProblem(http.StatusForbidden, "forbidden")
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","resource":"r","holder":"b"}`).wantProblem(http.StatusForbidden, "forbidden")
	want[wire.Lease](d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","resource":"r","holder":"a"}`), http.StatusOK)
}

// TestOwnHoldersRelease: a holder's token ends what its own holders have, and only that.
func TestOwnHoldersRelease(t *testing.T) {
	d := newDriver(t, nil, nil)
	d.acquire("r1", "claude:s")
	d.acquire("r2", "claude:s/a")
	d.acquire("r3", "claude:t")
	foreign := d.acquire("r4", "ci:1")
	d.caller = auth.Caller{Name: "c", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"claude:*"}}
	release := func(holder, body string) reply {
		return d.send("POST", "/v1/holders/"+holder+"/release", body)
	}
	release("ci:1", `{}`).wantProblem(http.StatusForbidden, "forbidden")
	release("ci:1", `{"children":true}`).wantProblem(http.StatusForbidden, "forbidden")
	release("claude:s", `{"children":"yes"}`).wantProblem(http.StatusBadRequest, "invalid_argument")
	if got := want[wire.Forced](release("claude:s", `{"children":true,"reason":"over"}`), http.StatusOK); got.Released != 2 {
		t.Errorf("release with children = %+v, want 2", got)
	}
	if got := want[wire.Forced](release("claude:t", `{}`), http.StatusOK); got.Released != 1 {
		t.Errorf("release = %+v, want 1", got)
	}
	d.caller.Holders = nil // any holder may be its own, so none is
	release("claude:s", `{}`).wantProblem(http.StatusForbidden, "forbidden")
	d.caller = auth.Local
	if l := want[wire.Lease](d.send("POST", "/v1/leases/get", `{"lease_id":"`+foreign.LeaseID+`"}`), http.StatusOK); l.Status != "active" {
		t.Errorf("the lease of another is %s, want it active", l.Status)
	}
}

// TestReleaseOfStoresWithout: a store that cannot release children says so.
func TestReleaseOfStoresWithout(t *testing.T) {
	d := newDriver(t, plain{memory.New()}, nil)
	for _, body := range []string{`{}`, `{"children":true}`} {
		d.send("POST", "/v1/holders/h/release", body).wantProblem(http.StatusNotImplemented, "unsupported")
	}
}
