package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

func TestBadBodies(t *testing.T) {
	const acquire = "/v1/leases/acquire"
	for _, c := range []struct{ name, path, body, field, problem string }{
		{"unknown field", acquire, `{"resource":"r","holder":"a","colour":"red"}`, "colour", "is no field of this call; it takes resource, file_path, resources, mode, namespace, paths, claims, holder,"},
		{"field of the wrong case", acquire, `{"Resource":"r","holder":"a"}`, "Resource", "is no field"},
		{"field of a call without any", "/v1/leases/cleanup", `{"x":1}`, "x", "takes none"},
		{"field twice", acquire, `{"resource":"r","resource":"s","holder":"a"}`, "resource", "twice"},
		{"field twice, once escaped", acquire, `{"resource":"r","\u0072esource":"s","holder":"a"}`, "resource", "twice"},
		{"huge field name", acquire, `{"` + strings.Repeat("x", 5000) + `":1}`, strings.Repeat("x", 64), "is no field"},
		{"number for a string", acquire, `{"resource":5}`, "resource", "is a number; want a string"},
		{"list for a string", acquire, `{"resource":["r"]}`, "resource", "is a list; want a string"},
		{"string for a number", acquire, `{"ttl_seconds":"60"}`, "ttl_seconds", "is a string; want a number"},
		{"boolean for a number", acquire, `{"duration":true}`, "duration", "is a boolean; want a number"},
		{"overflowing number", acquire, `{"ttl_seconds":1e999}`, "ttl_seconds", "want a number"},
		{"fraction for a whole number", acquire, `{"timeout_ms":1.5}`, "timeout_ms", "want a whole number"},
		{"overflowing whole number", acquire, `{"max_renewals":99999999999999999999}`, "max_renewals", "want a whole number"},
		{"negative token", "/v1/leases/renew", `{"token":-1}`, "token", "want a whole number, 0 or more"},
		{"number for a boolean", acquire, `{"blocking":1}`, "blocking", "is a number; want true or false"},
		{"string for an object", acquire, `{"metadata":"x"}`, "metadata", "is a string; want an object of strings"},
		{"number in metadata", acquire, `{"metadata":{"k":5}}`, "metadata", `has under "k" a number; want a string`},
		{"null in metadata", acquire, `{"metadata":{"k":null}}`, "metadata", `has under "k" null; want a string`},
		{"key twice in metadata", acquire, `{"metadata":{"k":"a","k":"b"}}`, "metadata", `has the key "k" twice`},
		{"half a surrogate in a value", acquire, `{"resource":"a\ud800"}`, "resource", "whole characters"},
		{"the other half", acquire, `{"resource":"\udc00a"}`, "resource", "whole characters"},
		{"half a surrogate and a letter", acquire, `{"resource":"\ud800\u0041"}`, "resource", "whole characters"},
		{"half a surrogate in a name", acquire, `{"\ud800":1}`, "body", "surrogate"},
		{"half a surrogate in metadata", acquire, `{"metadata":{"\ud800":"x"}}`, "metadata", "surrogate"},
		{"not UTF-8", acquire, "{\"resource\":\"a\xff\"}", "body", "UTF-8"},
		{"raw NUL", acquire, "{\"resource\":\"a\x00\"}", "body", "valid JSON"},
		{"escaped NUL", acquire, `{"resource":"a\u0000","holder":"a"}`, "resource", ""},
		{"garbage", acquire, `nonsense`, "body", "valid JSON"},
		{"half an object", acquire, `{"resource":"r"`, "body", "valid JSON"},
		{"trailing garbage", acquire, `{"resource":"r","holder":"a"} x`, "body", "valid JSON"},
		{"two objects", acquire, `{"resource":"r","holder":"a"}{}`, "body", "valid JSON"},
		{"a list", acquire, `[]`, "body", "is a list; want an object"},
		{"null", acquire, ` null`, "body", "is null; want an object"},
		{"a string", acquire, `"resource"`, "body", "is a string; want an object"},
		{"deep nesting", acquire, `{"resource":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + `}`, "body", "valid JSON"},
		{"nothing", acquire, ``, "resource", ""},
		{"an empty object", acquire, `{}`, "resource", ""},
		{"null for a required field", acquire, `{"resource":null,"holder":"a"}`, "resource", ""},
		{"no holder", acquire, `{"resource":"r"}`, "holder", ""},
		{"two holders", acquire, `{"resource":"r","holder":"a","agent_id":"b"}`, "agent_id", "another name"},
		{"two resources", acquire, `{"resource":"r","file_path":"s","holder":"a"}`, "file_path", "another name for resource; they differ"},
		{"an empty resource beside its alias", acquire, `{"resource":"","file_path":"s","holder":"a"}`, "resource", "is empty"},
		{"an empty holder beside its alias", acquire, `{"resource":"r","holder":"","agent_id":"a"}`, "holder", "is empty"},
		{"an empty id", acquire, `{"resource":"r","holder":"a","lease_id":""}`, "lease_id", "is empty"},
		{"two resources of a renew", "/v1/leases/renew", `{"lease_id":"` + otherID + `","resource":"r","file_path":"s"}`, "file_path", "another name"},
		{"two resources of a release", "/v1/leases/release", `{"lease_id":"` + otherID + `","resource":"r","file_path":"s"}`, "file_path", "another name"},
		{"two ttls", acquire, `{"resource":"r","holder":"a","ttl_seconds":5,"duration":6}`, "duration", "another name"},
		{"short ttl", acquire, `{"resource":"r","holder":"a","ttl_seconds":0.5}`, "ttl_seconds", "want 1 to 3153600000"},
		{"long wait", acquire, `{"resource":"r","holder":"a","blocking":true,"timeout_ms":86400001}`, "timeout_ms", ""},
		{"high priority", acquire, `{"resource":"r","holder":"a","priority":101}`, "priority", ""},
		{"long resource", acquire, `{"resource":"` + strings.Repeat("r", 1025) + `","holder":"a"}`, "resource", ""},
		{"bad metadata key", acquire, `{"resource":"r","holder":"a","metadata":{"a b":"c"}}`, "metadata", ""},
		{"bad id", acquire, `{"resource":"r","holder":"a","lease_id":"nearly-a-secret"}`, "lease_id", "not a UUID"},
		{"blob namespace", acquire, `{"resource":"blob:x","holder":"a"}`, "resource", "cannot be acquired here"},
		{"health namespace", acquire, `{"resource":"__healthcheck__x","holder":"a"}`, "resource", "cannot be acquired here"},
		{"blob namespace among several", acquire, `{"resources":["r","blob:x"],"holder":"a"}`, "resources", "cannot be acquired here"},
		{"health namespace, shared", acquire, `{"resource":"__healthcheck__x","mode":"shared","holder":"a"}`, "resources", "cannot be acquired here"},
		{"blob namespace as a claim", acquire, `{"claims":[{"pattern":"blob:x"}],"holder":"a"}`, "resources", "cannot be acquired here"},
		{"the name of a set", acquire, `{"resource":"__set__7","holder":"a"}`, "resource", "begins with __set__"},
		{"the name of a set among several", acquire, `{"resources":["__set__7"],"holder":"a"}`, "resources", "begins with __set__"},
		{"no resources", acquire, `{"resources":[],"holder":"a"}`, "resources", "is empty"},
		{"no paths", acquire, `{"resources":["r"],"namespace":"n","paths":[],"holder":"a"}`, "paths", "is empty"},
		{"no claims", acquire, `{"claims":[],"holder":"a"}`, "claims", "is empty"},
		{"an empty mode", acquire, `{"resource":"r","mode":"","holder":"a"}`, "mode", "is empty"},
		{"an empty namespace", acquire, `{"namespace":"","paths":[{"pattern":"p"}],"holder":"a"}`, "namespace", "is empty"},
		{"a string for resources", acquire, `{"resources":"r","holder":"a"}`, "resources", "is a string; want a list"},
		{"a number among resources", acquire, `{"resources":["r",7],"holder":"a"}`, "resources[1]", "is a number; want a string"},
		{"half a surrogate among resources", acquire, `{"resources":["\ud800"],"holder":"a"}`, "resources[0]", "whole characters"},
		{"a string among paths", acquire, `{"namespace":"n","paths":["src/**"],"holder":"a"}`, "paths[0]", "is a string; want an object"},
		{"a path with an unknown field", acquire, `{"namespace":"n","paths":[{"pattern":"p"},{"path":"p"}],"holder":"a"}`, "paths[1].path", "it takes pattern, mode"},
		{"a path without a pattern", acquire, `{"namespace":"n","paths":[{}],"holder":"a"}`, "paths", "is empty"},
		{"paths without a namespace", acquire, `{"paths":[{"pattern":"p"}],"holder":"a"}`, "namespace", "is missing"},
		{"a namespace without paths", acquire, `{"resource":"r","namespace":"n","holder":"a"}`, "namespace", "without paths"},
		{"resource and resources", acquire, `{"resource":"r","resources":["s"],"holder":"a"}`, "resources", "together with resource"},
		{"claims and resources", acquire, `{"claims":[{"pattern":"p"}],"resources":["s"],"holder":"a"}`, "claims", "together"},
		{"a resource twice", acquire, `{"resources":["r","r"],"holder":"a"}`, "resources", "twice"},
		{"an unknown mode", acquire, `{"resource":"r","mode":"read","holder":"a"}`, "mode", "want shared or exclusive"},
		{"the mode of paths alone", acquire, `{"mode":"shared","namespace":"n","paths":[{"pattern":"p"}],"holder":"a"}`, "mode", "each of them has its own"},
		{"** in a segment", acquire, `{"namespace":"n","paths":[{"pattern":"src/**.go"}],"holder":"a"}`, "paths", "** is a part of a segment"},
		{"an absolute path", acquire, `{"namespace":"n","paths":[{"pattern":"/src"}],"holder":"a"}`, "paths", "a segment is empty"},
		{"a control character in a path", acquire, `{"namespace":"n","paths":[{"pattern":"a\u0007"}],"holder":"a"}`, "paths", ""},
		{"a long pattern", acquire, `{"namespace":"n","paths":[{"pattern":"` + strings.Repeat("p", 1025) + `"}],"holder":"a"}`, "paths", "the limit is 1024"},
		{"too many resources", acquire, `{"resources":["` + strings.Join(numbered(257), `","`) + `"],"holder":"a"}`, "claims", "the limit is 256"},
		{"a long note", "/v1/leases/release", `{"lease_id":"` + otherID + `","note":"` + strings.Repeat("n", 4097) + `"}`, "note", "the limit is 4096"},
		{"a long note of a transfer", "/v1/leases/transfer", `{"lease_id":"` + otherID + `","to_holder":"b","note":"` + strings.Repeat("n", 4097) + `"}`, "note", "the limit is 4096"},
		{"renew without an id", "/v1/leases/renew", `{}`, "lease_id", "is missing"},
		{"release without an id", "/v1/leases/release", ``, "lease_id", "is missing"},
		{"change without a proposal", "/v1/leases/change", `{"lease_id":"` + otherID + `"}`, "proposed_lease_id", "is missing"},
		{"transfer to nobody", "/v1/leases/transfer", `{"lease_id":"` + otherID + `"}`, "to_holder", ""},
		{"get without an id", "/v1/leases/get", `{}`, "lease_id", "is missing"},
		{"check without a token", "/v1/leases/check", `{"resource":"r"}`, "token", "is missing"},
		{"check of nothing", "/v1/leases/check", `{"token":1}`, "resource", ""},
		{"break of nothing", "/v1/leases/break", `{}`, "resource", ""},
		{"long break", "/v1/leases/break", `{"resource":"r","break_period_seconds":61}`, "break_period_seconds", ""},
		{"force-release of nobody", "/v1/holders//release", ``, "holder", ""},
		{"parameters on a call with a body", acquire + "?resource=r", `{"resource":"r","holder":"a"}`, "resource", "is no parameter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDriver(t, nil, nil)
			r := d.send("POST", c.path, c.body)
			p := r.wantProblem(http.StatusBadRequest, "invalid_argument")
			if p.Field != c.field || !strings.Contains(p.Problem, c.problem) {
				t.Errorf("%s = %s, want field %q and %q", r.request, r.body, c.field, c.problem)
			}
			if strings.Contains(string(r.body), "nearly-a-secret") {
				t.Errorf("%s = %s repeats a value", r.request, r.body)
			}
			if h := want[wire.History](d.send("GET", "/v1/history", ""), http.StatusOK); len(h.History) != 0 {
				t.Errorf("%s left %+v in the history, want nothing stored", r.request, h)
			}
		})
	}
}

// numbered returns so many different names.
func numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = "r" + strconv.Itoa(i)
	}
	return names
}

func TestNullIsLeftOut(t *testing.T) {
	d := newDriver(t, nil, nil)
	g := want[wire.Grant](d.send("POST", "/v1/leases/acquire",
		` { "resource" : "r\ud83d\udd11\\\"" , "holder":"a" ,"lease_id":null,"ttl_seconds":null,"metadata":null,"max_renewals":null,"blocking":null,"priority":null } `), http.StatusCreated)
	if g.Resource != "r🔑\\\"" || g.TTL != 300 {
		t.Errorf("acquire = %+v, want the defaults", g)
	}
}

func TestBadParameters(t *testing.T) {
	d := newDriver(t, nil, nil)
	for _, c := range []struct{ path, field, problem string }{
		{"/v1/leases?colour=red", "colour", "is no parameter of this call; it takes resource, prefix, holder, namespace, path, status, metadata.KEY, limit, cursor"},
		{"/v1/leases?metadata=x", "metadata", "is no parameter"},
		{"/v1/leases?path=src", "namespace", "is missing"},
		{"/v1/leases?namespace=n&path=/src", "paths", "a segment is empty"},
		{"/v1/leases?prefix.x=x", "prefix.x", "is no parameter"},
		{"/v1/config?x", "x", "takes none"},
		{"/healthz?x=1", "x", "takes none"},
		{"/v1/leases?limit=many", "limit", "wants a whole number"},
		{"/v1/leases?limit=0", "limit", "1 or more"},
		{"/v1/leases?limit=1001", "limit", "want 1 to 1000"},
		{"/v1/leases?limit=1&limit=2", "limit", "twice"},
		{"/v1/leases?metadata.a=1&metadata.a=2", "metadata.a", "twice"},
		{"/v1/leases?metadata.=1", "metadata", "key of 0 bytes"},
		{"/v1/leases?status=leased", "status", "is no state"},
		{"/v1/leases?status=", "status", "is no state"},
		{"/v1/leases?cursor=nonsense", "cursor", ""},
		{"/v1/leases?prefix=%ff", "prefix", "UTF-8"},
		{"/v1/leases?resource=%00", "resource", ""},
		{"/v1/leases?resource=%zz", "query", "not well escaped"},
		{"/v1/leases?resource=a;b", "query", "not well escaped"},
		{"/v1/resource", "resource", ""},
		{"/v1/leases/", "resource", ""},
		{"/v1/leases/%00", "resource", ""},
		{"/v1/leases/%ff", "resource", "UTF-8"},
		{"/v1/leases/" + strings.Repeat("x", 1025), "resource", "1024"},
		{"/v1/history?since=yesterday", "since", "RFC 3339"},
		{"/v1/history?until=2026-01-01", "until", "RFC 3339"},
		{"/v1/history?event=refused", "event", "is no event"},
		{"/v1/history?cursor=x", "cursor", ""},
		{"/v1/events?after=-1", "after", "number of an event"},
		{"/v1/events?prefix=%00", "prefix", ""},
	} {
		r := d.send("GET", c.path, "")
		p := r.wantProblem(http.StatusBadRequest, "invalid_argument")
		if p.Field != c.field || !strings.Contains(p.Problem, c.problem) {
			t.Errorf("%s = %s, want field %q and %q", r.request, r.body, c.field, c.problem)
		}
	}
	r := httptest.NewRequest("GET", "/v1/events", nil)
	r.Header.Set("Last-Event-ID", "x")
	if p := d.sendRequest(r).wantProblem(http.StatusBadRequest, "invalid_argument"); p.Field != "Last-Event-ID" {
		t.Errorf("Last-Event-ID x = %+v, want it named", p)
	}
}

func TestMediaType(t *testing.T) {
	d := newDriver(t, nil, nil)
	for media, status := range map[string]int{
		"": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "application/json; charset=latin1": 415, "application/json;;": 415,
		"application/json": 201, "Application/JSON; charset=UTF-8": 201, "application/json; v=1": 201,
	} {
		for _, length := range []int64{0, -1} { // announced and not
			r := httptest.NewRequest("POST", "/v1/leases/acquire", strings.NewReader(`{"resource":"`+queryEscape(media)+string(rune('b'-length))+`","holder":"a"}`))
			r.Header.Set("Content-Type", media)
			r.ContentLength += length * (r.ContentLength + 1)
			if got := d.sendRequest(r); got.status != status {
				t.Errorf("Content-Type %q = %d %s, want %d", media, got.status, got.body, status)
			} else if status == 415 {
				got.wantProblem(415, "unsupported_media_type")
			}
		}
	}
}

func TestRoutes(t *testing.T) {
	d := newDriver(t, nil, nil)
	for _, path := range []string{"/", "/v1", "/v1/", "//v1/leases", "/v1//leases", "/v2/leases", "/v1/holders/release", "/docs/", "/v1/%6ceases", "/favicon.ico"} {
		r := httptest.NewRequest("GET", "http://x"+path, nil)
		d.sendRequest(r).wantProblem(http.StatusNotFound, "not_found")
	}
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/v1/holders/x/release", "POST"},
		{"PUT", "/v1/leases/acquire", "GET, HEAD, POST"},
		{"DELETE", "/v1/leases", "GET, HEAD"},
		{"POST", "/v1/leases/x", "GET, HEAD"},
		{"POST", "/v1/config/keep_history", "PUT"},
		{"HEAD", "/v1/events", "GET"},
		{"OPTIONS", "/docs", "GET, HEAD"},
	} {
		r := d.send(c.method, c.path, "")
		r.wantProblem(http.StatusMethodNotAllowed, "method_not_allowed")
		if got := r.header.Get("Allow"); got != c.allow {
			t.Errorf("%s: Allow = %q, want %q", r.request, got, c.allow)
		}
	}
	if r := d.send("HEAD", "/v1/leases", ""); r.status != http.StatusOK {
		t.Errorf("HEAD /v1/leases = %d, want 200", r.status)
	}
}

func TestHeaders(t *testing.T) {
	d := newDriver(t, nil, nil)
	for _, path := range []string{"/healthz", "/nowhere", "/docs"} {
		h := d.send("GET", path, "").header
		for name, value := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store",
		} {
			if got := h.Get(name); got != value {
				t.Errorf("GET %s: %s = %q, want %q", path, name, got, value)
			}
		}
	}
	for sent, kept := range map[string]bool{"abc-1 ~": true, "": false, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false, "a\tb": false, "é": false} {
		r := httptest.NewRequest("GET", "/nowhere", nil)
		r.Header.Set("X-Request-Id", sent)
		got := d.sendRequest(r)
		p := got.wantProblem(http.StatusNotFound, "not_found")
		if p.RequestID == "" || (p.RequestID == sent) != kept {
			t.Errorf("X-Request-Id %q came back as %q, want it kept: %v", sent, p.RequestID, kept)
		}
	}
	if !strings.Contains(d.log.String(), "abc-1 ~") {
		t.Error("the log does not have the request's id")
	}
}

// panicky panics when asked for a status.
type panicky struct{ leasehold.Store }

func TestPanic(t *testing.T) {
	d := newDriver(t, plain{newDriver(t, nil, nil).server.store}, nil)
	d.server.store = panicky{}
	r := d.send("GET", "/v1/leases/x", "")
	r.wantProblem(http.StatusInternalServerError, "internal")
	if strings.Contains(string(r.body), "nil pointer") {
		t.Errorf("the answer tells of the panic: %s", r.body)
	}
	if log := d.log.String(); !strings.Contains(log, "nil pointer") || !strings.Contains(log, "stack") {
		t.Errorf("the log does not tell of the panic: %s", log)
	}
}

func TestProblemsAreWhole(t *testing.T) {
	// A problem survives the journey back into an error.
	d := newDriver(t, nil, nil)
	d.acquire("r", "a")
	r := d.send("POST", "/v1/leases/acquire", `{"resource":"r","holder":"b"}`)
	var p wire.Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatal(err)
	}
	if e := p.Error(); e.Reason != leasehold.ReasonHeld || e.Current.Holder != "a" || e.Op != "acquire" || e.RetryAfter <= 0 {
		t.Errorf("Error = %+v, want held by a", e)
	}
}
