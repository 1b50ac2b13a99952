package api

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/wire"
)

const acquirePath = "/v1/leases/acquire"

// acquireBody acquires what the fields say, or fails the test.
func (d *driver) acquireBody(fields string) wire.Grant {
	d.Helper()
	return want[wire.Grant](d.send("POST", acquirePath, `{`+fields+`}`), http.StatusCreated)
}

// Each form of a request, and the claims that it means.
func TestClaims(t *testing.T) {
	for body, claims := range map[string][]wire.Claim{
		`"resource":"a"`:                    nil,
		`"resource":"a","mode":"exclusive"`: nil,
		`"resource":"a","mode":"shared"`:    {{Pattern: "a", Mode: "shared"}},
		`"resources":["b","a*"]`:            {{Pattern: "b", Mode: "exclusive"}, {Pattern: "a*", Mode: "exclusive"}},
		`"resources":["b"],"mode":"shared"`: {{Pattern: "b", Mode: "shared"}},
		`"namespace":"repo","paths":[{"pattern":"src/**"},{"pattern":"*.md","mode":"shared"}],"resources":["b"]`: {
			{Pattern: "b", Mode: "exclusive"}, {Namespace: "repo", Pattern: "src/**", Mode: "exclusive"}, {Namespace: "repo", Pattern: "*.md", Mode: "shared"}},
		`"claims":[{"namespace":"n:","pattern":"a:**"},{"pattern":"a","mode":"shared"},{"namespace":"m","pattern":"a/b","mode":"exclusive"}]`: {
			{Namespace: "n:", Pattern: "a:**", Mode: "exclusive"}, {Pattern: "a", Mode: "shared"}, {Namespace: "m", Pattern: "a/b", Mode: "exclusive"}},
	} {
		d := newDriver(t, nil, nil)
		g := d.acquireBody(body + `,"holder":"h"`)
		if diff := cmp.Diff(claims, g.Claims); diff != "" || strings.HasPrefix(g.Resource, leasehold.SetPrefix) != (claims != nil) {
			t.Errorf("acquire %s = %q, the claims differ (-want +got):\n%s", body, g.Resource, diff)
		}
		own := want[wire.Lease](d.send("POST", "/v1/leases/renew", `{"lease_id":"`+g.LeaseID+`","resource":"`+g.Resource+`"}`), http.StatusOK)
		if diff := cmp.Diff(claims, own.Claims); diff != "" {
			t.Errorf("renew after %s differs (-want +got):\n%s", body, diff)
		}
		d.release(g.LeaseID)
		if !strings.Contains(d.log.String(), "msg=acquired resource="+g.Resource+" holder=h") {
			t.Errorf("the log does not name %s:\n%s", g.Resource, d.log)
		}
	}
}

// The same id with the same claims is a renewal, in other modes an upgrade, and with
// other claims refused.
func TestClaimsAgain(t *testing.T) {
	d := newDriver(t, nil, nil)
	body := func(mode, pattern string) string {
		return `{"holder":"a","lease_id":"` + otherID + `","namespace":"repo","paths":[{"pattern":"` + pattern + `","mode":"` + mode + `"}]}`
	}
	first := want[wire.Grant](d.send("POST", acquirePath, body("shared", "src/**")), http.StatusCreated)
	again := want[wire.Grant](d.send("POST", acquirePath, body("shared", "src/**")), http.StatusOK)
	if !again.Idempotent || again.Token != first.Token || again.Renewals != 1 {
		t.Errorf("acquire again = %+v, want the same lease", again)
	}
	up := want[wire.Grant](d.send("POST", acquirePath, body("exclusive", "src/**")), http.StatusCreated)
	if up.Idempotent || up.Token <= first.Token || up.Resource != first.Resource || up.Claims[0].Mode != "exclusive" {
		t.Errorf("upgrade = %+v, want a new token for %s", up, first.Resource)
	}
	d.send("POST", acquirePath, body("exclusive", "src/*")).wantProblem(http.StatusConflict, "lease_id_in_use")
}

// A refusal says who is in the way and where, but not with which id and notes.
func TestClaimsRefused(t *testing.T) {
	d := newDriver(t, nil, nil)
	left := d.acquireBody(`"namespace":"repo","paths":[{"pattern":"src/auth/**"}],"holder":"a"`)
	want[wire.Released](d.send("POST", "/v1/leases/release", `{"lease_id":"`+left.LeaseID+`","note":"not for everybody"}`), http.StatusOK)
	held := d.acquireBody(`"namespace":"repo","paths":[{"pattern":"src/auth/**"},{"pattern":"go.mod","mode":"shared"}],"resources":["db"],"holder":"a"`)
	if diff := cmp.Diff([]wire.Note{{From: "a", Text: "not for everybody"}}, held.Notes); diff != "" {
		t.Errorf("acquire: the notes differ (-want +got):\n%s", diff)
	}
	auth := wire.Claim{Namespace: "repo", Pattern: "src/auth/**", Mode: "exclusive"}
	for body, overlap := range map[string]wire.Overlap{
		`"namespace":"repo","paths":[{"pattern":"docs/**"},{"pattern":"src/**","mode":"shared"}]`: {
			Requested: wire.Claim{Namespace: "repo", Pattern: "src/**", Mode: "shared"}, Held: auth, Part: "src/auth/**"},
		`"namespace":"repo","paths":[{"pattern":"src/auth/login.go"}]`: {
			Requested: wire.Claim{Namespace: "repo", Pattern: "src/auth/login.go", Mode: "exclusive"}, Held: auth, Part: "src/auth/login.go"},
		`"resource":"db"`: {Requested: wire.Claim{Pattern: "db", Mode: "exclusive"}, Held: wire.Claim{Pattern: "db", Mode: "exclusive"}, Part: "db"},
	} {
		r := d.send("POST", acquirePath, `{"holder":"b",`+body+`}`)
		p := r.wantProblem(http.StatusConflict, "lease_held")
		if diff := cmp.Diff(&overlap, p.Overlap); diff != "" || p.Current == nil || p.Current.Resource != held.Resource || len(p.Current.Claims) != 3 {
			t.Errorf("acquire %s = %s, the overlap differs (-want +got):\n%s", body, r.body, diff)
		}
		if strings.Contains(string(r.body), "not for everybody") || strings.Contains(string(r.body), held.LeaseID) || r.header.Get("Retry-After") == "" {
			t.Errorf("acquire %s = %v %s, want no secrets, and when to come back", body, r.header, r.body)
		}
	}
	if log := d.log.String(); !strings.Contains(log, `msg=conflict resource="repo docs/** and 1 more" holder=b code=lease_held held_by=a`) {
		t.Errorf("the log does not say what was wanted:\n%s", log)
	}
	for _, path := range []string{"/v1/leases", "/v1/leases/" + held.Resource, "/v1/leases/db", "/v1/history"} {
		if r := d.send("GET", path, ""); strings.Contains(string(r.body), "not for everybody") {
			t.Errorf("%s = %s shows the note", r.request, r.body)
		}
	}
	// Beside it, and sharing.
	d.acquireBody(`"namespace":"repo","paths":[{"pattern":"docs/**"},{"pattern":"go.mod","mode":"shared"}],"holder":"b"`)
	d.acquireBody(`"namespace":"other","paths":[{"pattern":"src/auth/**"}],"holder":"b"`)
}

// simple is a store that grants no sets and keeps no notes.
type simple struct{ *local.Engine }

func (s simple) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Engine.Acquire(ctx, r)
}

func (s simple) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, err
	}
	return s.Engine.Wait(ctx, r)
}

func (s simple) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, err
	}
	return s.Engine.Release(ctx, r)
}

func (s simple) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, err
	}
	return s.Engine.Transfer(ctx, r)
}

func (s simple) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	if err := r.Validate(); err != nil {
		return leasehold.LeasePage{}, err
	}
	return s.Engine.List(ctx, r)
}

func TestClaimsUnsupported(t *testing.T) {
	d := newDriver(t, simple{memory.New()}, nil)
	own := d.acquireBody(`"resource":"r","mode":"exclusive","sequence":true,"holder":"a"`)
	for _, body := range []string{
		`{"resources":["s"],"holder":"a"}`, `{"resource":"s","mode":"shared","holder":"a"}`, `{"namespace":"n","paths":[{"pattern":"p"}],"holder":"a"}`,
		`{"resources":["s"],"holder":"a","blocking":true,"timeout_ms":1000}`,
	} {
		d.send("POST", acquirePath, body).wantProblem(http.StatusNotImplemented, "unsupported")
	}
	d.send("POST", "/v1/leases/release", `{"lease_id":"`+own.LeaseID+`","note":"n"}`).wantProblem(http.StatusNotImplemented, "unsupported")
	d.send("POST", "/v1/leases/transfer", `{"lease_id":"`+own.LeaseID+`","to_holder":"b","note":"n"}`).wantProblem(http.StatusNotImplemented, "unsupported")
	d.send("GET", "/v1/leases?namespace=n", "").wantProblem(http.StatusNotImplemented, "unsupported")
	d.send("POST", acquirePath, `{"resources":["s","s"],"holder":"a"}`).wantProblem(http.StatusBadRequest, "invalid_argument")
	d.release(own.LeaseID)
	if h := want[wire.History](d.send("GET", "/v1/history", ""), http.StatusOK); len(h.History) != 2 {
		t.Errorf("the history has %+v, want the grant and the release only", h.History)
	}
}

// A token that is limited to some names may claim only those, alone, among others and
// by patterns, and use only leases of them.
func TestNarrowTokensClaims(t *testing.T) {
	d := newDriver(t, nil, nil)
	foreign := d.acquireBody(`"resources":["mine:9","other:9"],"holder":"a:9"`)
	d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"a:*"}, Resources: []string{"mine:*", "repo/src/*"}}
	for body, named := range map[string]string{
		`"resources":["mine:1"],"holder":"b:1"`:                                                       "mine:1",
		`"resources":["mine:1","other:1"],"holder":"a:1"`:                                             "other:1",
		`"resource":"other:1","mode":"shared","holder":"a:1"`:                                         "other:1 (shared)",
		`"namespace":"repo","paths":[{"pattern":"src/a"},{"pattern":"*/a"}],"holder":"a:1"`:           "repo */a",
		`"namespace":"repo","paths":[{"pattern":"src/**"}],"holder":"a:1"`:                            "repo src/**", // src itself is not theirs
		`"namespace":"repo","paths":[{"pattern":"src/a"}],"resources":["other:1"],"holder":"a:1"`:     "other:1",
		`"claims":[{"namespace":"other","pattern":"src/a"}],"holder":"a:1"`:                           "other src/a",
		`"resources":["mine:1","other:1"],"holder":"a:1","blocking":true,"timeout_ms":1,"priority":1`: "other:1",
	} {
		if p := d.send("POST", acquirePath, `{`+body+`}`).wantProblem(http.StatusForbidden, "forbidden"); !strings.HasSuffix(p.Detail, `: "`+named+`"`) {
			t.Errorf("acquire %s: %s, want it to name %s", body, p.Detail, named)
		}
	}
	own := d.acquireBody(`"resources":["mine:1"],"namespace":"repo","paths":[{"pattern":"src/*/**"}],"holder":"a:1"`)
	id := func(id string) string { return `{"lease_id":"` + id + `"` }
	calls := []struct{ call, rest string }{
		{"renew", `}`}, {"get", `}`}, {"change", `,"proposed_lease_id":"` + otherID + `"}`}, {"transfer", `,"to_holder":"a:2"}`}, {"release", `}`},
	}
	for _, c := range calls {
		r := d.send("POST", "/v1/leases/"+c.call, id(foreign.LeaseID)+c.rest)
		if p := r.wantProblem(http.StatusForbidden, "forbidden"); strings.Contains(p.Detail, "other:9") {
			t.Errorf("%s = %s tells what it covers", r.request, r.body)
		}
	}
	if s := d.status(own.Resource); s.Lease == nil || s.Lease.Token != own.Token {
		t.Errorf("status(%s) = %+v, want the caller's own lease", own.Resource, s)
	}
	d.send("GET", "/v1/leases/"+foreign.Resource, "").wantProblem(http.StatusForbidden, "forbidden")
	d.send("POST", "/v1/leases/check", `{"resource":"`+foreign.Resource+`","token":1}`).wantProblem(http.StatusForbidden, "forbidden")
	d.send("GET", "/v1/leases/__set__999", "").wantProblem(http.StatusForbidden, "forbidden")
	for _, c := range calls {
		shown := own.LeaseID
		if c.call == "transfer" || c.call == "release" {
			shown = otherID // by change
		}
		body := id(shown) + c.rest
		if c.call == "release" {
			body = id(moved(d, "a:2")) + c.rest
		}
		want[map[string]any](d.send("POST", "/v1/leases/"+c.call, body), http.StatusOK)
	}
	// How it ended: what it covered is no longer known.
	d.send("POST", "/v1/leases/renew", id(moved(d, "a:2"))+`}`).wantProblem(http.StatusNotFound, "lease_released")
	want[wire.Lease](d.send("POST", "/v1/leases/get", id(moved(d, "a:2"))+`}`), http.StatusOK)
	d.caller.Holders = []string{"b:*"}
	d.send("POST", "/v1/leases/get", id(moved(d, "a:2"))+`}`).wantProblem(http.StatusForbidden, "forbidden")
	d.send("GET", "/v1/leases/"+own.Resource, "").wantProblem(http.StatusForbidden, "forbidden")
}

// moved returns the id that the transfer to the holder answered.
func moved(d *driver, holder string) string {
	d.Helper()
	for _, r := range d.replies {
		if strings.HasSuffix(r.request, "/transfer") && r.status == http.StatusOK {
			if l := want[wire.Lease](r, http.StatusOK); l.Holder == holder {
				return l.LeaseID
			}
		}
	}
	d.Fatalf("nothing was transferred to %s", holder)
	return ""
}

// A change and a transfer of a set whose answers were lost are answered again, to a
// narrow token as well.
func TestNarrowTokensRepeatClaims(t *testing.T) {
	const given = "77777777-2222-4333-8444-555555555552"
	d := newDriver(t, nil, nil)
	d.caller = auth.Caller{Name: "a", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"a:*"}, Resources: []string{"mine:*"}}
	own := d.acquireBody(`"resources":["mine:1","mine:2"],"holder":"a:1"`)
	for range 2 {
		want[wire.Lease](d.send("POST", "/v1/leases/change", `{"lease_id":"`+own.LeaseID+`","proposed_lease_id":"`+otherID+`"}`), http.StatusOK)
	}
	for range 2 {
		l := want[wire.Lease](d.send("POST", "/v1/leases/transfer",
			`{"lease_id":"`+otherID+`","to_holder":"b:9","proposed_lease_id":"`+given+`","note":"for b"}`), http.StatusOK)
		if l.Holder != "b:9" || l.LeaseID != "" || l.Notes != nil || len(l.Claims) != 2 {
			t.Errorf("transfer = %+v, want it without what is the new holder's", l)
		}
	}
	d.send("POST", "/v1/leases/release", `{"lease_id":"`+given+`"}`).wantProblem(http.StatusForbidden, "forbidden")
	d.caller.Holders = []string{"b:*"}
	l := want[wire.Lease](d.send("POST", "/v1/leases/get", `{"lease_id":"`+given+`"}`), http.StatusOK)
	if diff := cmp.Diff([]wire.Note{{From: "a:1", Text: "for b"}}, l.Notes); diff != "" {
		t.Errorf("get by the new holder: the notes differ (-want +got):\n%s", diff)
	}
}

// Several share a resource: its status lists them, and each of their tokens is current.
func TestSharedResource(t *testing.T) {
	d := newDriver(t, nil, nil)
	one := d.acquireBody(`"resource":"db","mode":"shared","holder":"a"`)
	if s := d.status("db"); !s.Locked || len(s.Leases) != 1 {
		t.Errorf("status = %+v, want the lease among leases", s)
	}
	two := d.acquireBody(`"resources":["db","cache"],"mode":"shared","holder":"b"`)
	s := d.status("db")
	if !s.Locked || s.Lease == nil || s.Lease.Token != one.Token || len(s.Leases) != 2 || s.Leases[1].Holder != "b" || s.Leases[1].LeaseID != "" {
		t.Errorf("status = %+v, want both leases, without ids", s)
	}
	for token, current := range map[uint64]bool{one.Token: true, two.Token: true, two.Token + 1: false} {
		got := want[wire.Checked](d.post("/v1/leases/check", wire.CheckRequest{Resource: "db", Token: token}), http.StatusOK)
		if diff := cmp.Diff(wire.Checked{Current: current, Status: "active", Token: two.Token}, got); diff != "" {
			t.Errorf("check of %d differs (-want +got):\n%s", token, diff)
		}
	}
	d.release(one.LeaseID)
	if got := want[wire.Checked](d.post("/v1/leases/check", wire.CheckRequest{Resource: "db", Token: one.Token}), http.StatusOK); got.Current {
		t.Errorf("check of a released token = %+v", got)
	}
	if s := d.status("plain"); s.Leases != nil {
		t.Errorf("status of a free resource = %+v, want no leases", s)
	}
}

func TestListClaims(t *testing.T) {
	d := newDriver(t, nil, nil)
	d.acquire("db", "plain")
	src := d.acquireBody(`"namespace":"repo","paths":[{"pattern":"src/**"}],"resources":["api"],"holder":"a"`)
	docs := d.acquireBody(`"namespace":"repo","paths":[{"pattern":"docs/*.md"}],"holder":"b"`)
	d.acquireBody(`"namespace":"prod:","paths":[{"pattern":"us:**"}],"holder":"c"`)
	for query, tokens := range map[string][]uint64{
		"namespace=repo": {src.Token, docs.Token}, "namespace=repo&path=src/auth/**": {src.Token}, "namespace=repo&path=docs/a.md": {docs.Token},
		"namespace=repo&path=**": {src.Token, docs.Token}, "namespace=repo&path=docs/a.txt": nil, "namespace=none": nil,
		"resource=api": {src.Token}, "resource=" + docs.Resource: {docs.Token}, "namespace=repo&holder=b": {docs.Token},
	} {
		var got []uint64
		for _, l := range want[wire.Leases](d.send("GET", "/v1/leases?"+query, ""), http.StatusOK).Leases {
			got = append(got, l.Token)
		}
		if diff := cmp.Diff(tokens, got); diff != "" {
			t.Errorf("list %s differs (-want +got):\n%s", query, diff)
		}
	}
}

// A waiter for several has them when the last is free, and a wait that would close a
// cycle is refused at once.
func TestWaitForClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		a := d.acquireBody(`"resource":"x","holder":"a","sequence":true`)
		b := d.acquireBody(`"namespace":"repo","paths":[{"pattern":"src/**"}],"holder":"b","sequence":true`)
		answers := make(chan reply)
		go func() {
			answers <- d.send("POST", acquirePath, `{"resources":["x","y"],"namespace":"repo","paths":[{"pattern":"src/a"}],"holder":"w","blocking":true,"timeout_ms":60000}`)
		}()
		synctest.Wait()
		if s := d.status("x"); len(s.Waiters) != 1 || s.Waiters[0].Holder != "w" {
			t.Errorf("status of x = %+v, want the waiter", s.Waiters)
		}
		if p := d.send("POST", acquirePath, `{"resource":"y","holder":"c"}`).wantProblem(http.StatusConflict, "lease_held"); p.Reserved != "w" {
			t.Errorf("acquire y = %+v, want it kept for w", p)
		}
		d.release(a.LeaseID)
		time.Sleep(time.Second)
		d.release(b.LeaseID)
		g := want[wire.Grant](<-answers, http.StatusCreated)
		if g.WaitedMS == nil || *g.WaitedMS != 1000 || len(g.Claims) != 3 {
			t.Errorf("the wait = %+v, want three claims after a second", g)
		}
		d.send("POST", acquirePath, `{"resources":["y","z"],"holder":"c","blocking":true,"timeout_ms":100}`).wantProblem(http.StatusConflict, "acquire_timeout")
		d.release(g.LeaseID)

		d.acquireBody(`"resource":"x","holder":"a","sequence":true`)
		y := d.acquireBody(`"resource":"y","holder":"b","sequence":true`)
		go func() {
			answers <- d.send("POST", acquirePath, `{"resource":"y","holder":"a","sequence":true,"blocking":true,"timeout_ms":60000}`)
		}()
		synctest.Wait()
		p := d.send("POST", acquirePath, `{"resources":["x","z"],"holder":"b","sequence":true,"blocking":true,"timeout_ms":60000}`).wantProblem(http.StatusConflict, "deadlock")
		cycle := []wire.Wait{
			{Holder: "b", Claim: wire.Claim{Pattern: "x", Mode: "exclusive"}, HeldBy: "a"}, {Holder: "a", Claim: wire.Claim{Pattern: "y", Mode: "exclusive"}, HeldBy: "b"},
		}
		if diff := cmp.Diff(cycle, p.Cycle); diff != "" {
			t.Errorf("the cycle differs (-want +got):\n%s", diff)
		}
		d.release(y.LeaseID)
		want[wire.Grant](<-answers, http.StatusCreated)
	})
}

// A waiter for several whose client leaves, or whose server drains, is gone.
func TestWaitForClaimsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDriver(t, nil, nil)
		d.acquireBody(`"resources":["x"],"holder":"a"`)
		const body = `{"resources":["x","y"],"holder":"w","blocking":true,"timeout_ms":60000}`
		answers := make(chan reply)
		ctx, leave := context.WithCancel(t.Context())
		go func() { answers <- d.sendRequest(newRequest(t, ctx, "POST", acquirePath, body)) }()
		synctest.Wait()
		leave()
		<-answers
		if s := d.status("y"); s.Locked || len(s.Waiters) != 0 {
			t.Errorf("status of y = %+v, want nobody", s)
		}
		go func() { answers <- d.send("POST", acquirePath, body) }()
		synctest.Wait()
		d.server.Drain()
		(<-answers).wantProblem(http.StatusServiceUnavailable, "store_unavailable")
	})
}

func TestClaimsInBatch(t *testing.T) {
	d := newDriver(t, nil, nil)
	d.acquire("taken", "x")
	answers := want[wire.BatchAnswer](d.send("POST", "/v1/leases/batch", `{"operations":[
		{"op":"acquire","request":{"resources":["a","b"],"holder":"h"}},
		{"op":"acquire","request":{"resources":["c","taken"],"holder":"h"}},
		{"op":"acquire","request":{"resources":["d"],"holder":"h","blocking":true}},
		{"op":"acquire","request":{"resources":["blob:x"],"holder":"h"}}]}`), http.StatusOK).Answers
	for i, status := range []int{201, 409, 400, 400} {
		if answers[i].Status != status {
			t.Errorf("operation %d = %d %s, want %d", i, answers[i].Status, answers[i].Body, status)
		}
	}
	if s := d.status("c"); s.Locked {
		t.Errorf("status of c = %+v, want all or nothing", s)
	}
	if s := d.status("b"); !s.Locked || len(s.Leases) != 1 || len(s.Leases[0].Claims) != 2 {
		t.Errorf("status of b = %+v, want the set", s)
	}
}
