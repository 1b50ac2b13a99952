package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

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
	for _, id := range []string{"break", "force_release", "cleanup", "set", "backup"} {
		needs[id] = []auth.Role{auth.RoleOperator}
	}
	for _, id := range []string{"list", "history", "events", "settings", "metrics"} {
		needs[id] = []auth.Role{auth.RoleReader}
	}
	for _, id := range []string{"status", "resource", "check"} {
		needs[id] = []auth.Role{auth.RoleReader, auth.RoleHolder}
	}
	for _, id := range []string{"healthz", "live", "ready", "leasing", "openapi", "docs"} {
		needs[id] = nil
	}
	d := newDoor(t, plain{memory.New()}, nil) // whose streams end at once
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
	d := newDoor(t, nil, nil)
	foreign := d.acquire("other:x", "b:1")
	d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"a:*"}, Resources: []string{"mine:*"}}
	for _, ask := range []string{`"resource":"mine:1","holder":"b:1"`, `"resource":"other:1","holder":"a:1"`} {
		d.send("POST", "/v1/leases/acquire", `{`+ask+`}`).wantProblem(http.StatusForbidden, "forbidden")
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

func TestNarrowTokensWithoutFinder(t *testing.T) {
	d := newDoor(t, plain{memory.New()}, nil)
	d.caller.Holders = []string{"a"}
	g := d.acquire("r", "a")
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`"}`).wantProblem(http.StatusForbidden, "forbidden")
	d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","resource":"r","holder":"b"}`).wantProblem(http.StatusForbidden, "forbidden")
	want[wire.Lease](d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","resource":"r","holder":"a"}`), http.StatusOK)
}
