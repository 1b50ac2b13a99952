package mcp

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// TestIdentity: over HTTP the holder is the token's only one, or the one that the
// client's configuration names.
func TestIdentity(t *testing.T) {
	token := func(holders ...string) auth.Caller {
		return auth.Caller{Name: "ci", Roles: []auth.Role{auth.RoleHolder}, Holders: holders}
	}
	tests := []struct {
		name      string
		caller    auth.Caller
		query     string
		header    http.Header
		holder    string
		namespace string
		reason    leasehold.Reason
	}{
		{name: "header", caller: auth.Local, header: holderHeader("anna"), holder: "anna"},
		{name: "query", caller: auth.Local, query: "?holder=anna%3A1&namespace=shop", holder: "anna:1", namespace: "shop"},
		{name: "both, the same", caller: auth.Local, query: "?holder=anna", header: holderHeader("anna"), holder: "anna"},
		{name: "both, not the same", caller: auth.Local, query: "?holder=ben", header: holderHeader("anna"), reason: leasehold.ReasonInvalid},
		{name: "twice", caller: auth.Local, header: http.Header{HolderHeader: {"a", "b"}}, reason: leasehold.ReasonInvalid},
		{name: "empty", caller: token("ci:1"), header: holderHeader(""), reason: leasehold.ReasonInvalid},
		{name: "bad query", caller: auth.Local, query: "?holder=%zz", reason: leasehold.ReasonInvalid},
		{name: "control character", caller: auth.Local, query: "?holder=a%0Ab", reason: leasehold.ReasonInvalid},
		{name: "nobody", caller: auth.Local, reason: leasehold.ReasonHolderMismatch},
		{name: "the token's only holder", caller: token("ci:1"), holder: "ci:1"},
		{name: "one of several", caller: token("ci:1", "ci:2"), reason: leasehold.ReasonHolderMismatch},
		{name: "any of a prefix", caller: token("ci:*"), reason: leasehold.ReasonHolderMismatch},
		{name: "namespace", caller: token("ci:1"), header: http.Header{NamespaceHeader: {"shop"}}, holder: "ci:1", namespace: "shop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(auth.With(t.Context(), tt.caller), http.MethodPost, "http://localhost/mcp"+tt.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, values := range tt.header {
				r.Header[name] = values
			}
			got, err := identify(r)
			if leasehold.ReasonOf(err) != tt.reason || err == nil && (got.Holder != tt.holder || got.Namespace != tt.namespace) {
				t.Errorf("identify = %q in %q, %v, want %q in %q, %q", got.Holder, got.Namespace, err, tt.holder, tt.namespace, tt.reason)
			}
		})
	}
	if err := (Identity{Holder: "anna", Namespace: "a\x00"}).Check(); err == nil {
		t.Error("Check of a bad namespace = nil")
	}
}

// TestRoles: each tool needs its role, and a token acts only for its own holders and on
// its own resources.
func TestRoles(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end()
	anna := w.web(auth.Local, holderHeader("anna"), "")
	held := anna.call("lease_acquire", args{"resources": []string{"deploy:prod"}})
	deploy := auth.Caller{Name: "ci", Roles: []auth.Role{auth.RoleHolder}, Holders: []string{"ci:*"}, Resources: []string{"deploy:*", "shop/src/*"}}
	reader := auth.Caller{Name: "reader", Roles: []auth.Role{auth.RoleReader}}
	operator := auth.Caller{Name: "ops", Roles: []auth.Role{auth.RoleOperator}}
	for _, tt := range []struct {
		caller auth.Caller
		holder string
		tool   string
		in     args
		code   string // empty: it is allowed
	}{
		{deploy, "ci:1", "lease_acquire", args{"resources": []string{"deploy:test"}}, ""},
		{deploy, "ci:1", "lease_acquire", args{"resources": []string{"other"}}, "forbidden"},
		{deploy, "ci:1", "lease_acquire", args{"resources": []string{"deploy:x", "other"}}, "forbidden"},
		{deploy, "ci:1", "lease_acquire", args{"paths": []string{"src/a/**"}, "namespace": "shop"}, ""},
		{deploy, "ci:1", "lease_acquire", args{"paths": []string{"docs/**"}, "namespace": "shop"}, "forbidden"},
		{deploy, "anna", "lease_acquire", args{"resources": []string{"deploy:test"}}, "forbidden"},
		{deploy, "anna", "lease_release", args{"lease_id": held.LeaseID}, "forbidden"},
		{deploy, "ci:1", "lease_release", args{"lease_id": held.LeaseID}, "holder_mismatch"},
		{deploy, "ci:1", "lease_renew", args{"lease_id": held.LeaseID}, "holder_mismatch"},
		{deploy, "ci:1", "lease_renew", args{"lease_id": leasehold.NewID().Reveal()}, "lease_not_found"},
		{deploy, "ci:1", "lease_status", args{"resource": "deploy:prod"}, ""},
		{deploy, "ci:1", "lease_status", args{"resource": "other"}, "forbidden"},
		{deploy, "ci:1", "lease_status", args{}, "forbidden"},
		{deploy, "ci:1", "lease_status", args{"mine": true}, ""},
		{deploy, "anna", "lease_status", args{"mine": true}, "forbidden"},
		{deploy, "ci:1", "lease_history", args{}, "forbidden"},
		{deploy, "ci:1", "lease_break", args{"resource": "deploy:prod", "reason": "x"}, "forbidden"},
		{reader, "", "lease_status", args{}, ""},
		{reader, "", "lease_history", args{"resource": "deploy:prod"}, ""},
		{reader, "", "lease_history", args{"mine": true}, "holder_mismatch"},
		{reader, "anna", "lease_renew", args{"lease_id": held.LeaseID}, "forbidden"},
		{operator, "", "lease_status", args{"resource": "deploy:prod"}, "forbidden"},
		{auth.Caller{}, "anna", "lease_status", args{}, "forbidden"},
		{auth.Local, "", "lease_acquire", args{"resources": []string{"r"}}, "holder_mismatch"},
		{operator, "", "lease_break", args{"resource": "deploy:prod", "reason": "the runner is gone", "break_period_seconds": 30}, ""},
		{operator, "", "lease_break", args{"resource": "deploy:prod", "reason": "at once"}, ""},
	} {
		header := http.Header{}
		if tt.holder != "" {
			header = holderHeader(tt.holder)
		}
		r, isError, err := w.web(tt.caller, header, "").try(t.Context(), tt.tool, tt.in)
		if err != nil || r.Code != tt.code || isError != (tt.code != "") || r.NextStep == "" {
			t.Errorf("%s(%v) of %s as %q = %+v, %v, want code %q", tt.tool, tt.in, tt.caller.Name, tt.holder, r, err, tt.code)
		}
	}
	if s := w.status("deploy:prod"); s.Locked() {
		t.Error("the lease is still there after the break")
	}
}

// TestHTTPRefusals: what is no request of the protocol gets an HTTP status. In a bubble,
// because net/http lingers before it closes the connection of a body that is too large.
func TestHTTPRefusals(t *testing.T) { synctest.Test(t, testHTTPRefusals) }

func testHTTPRefusals(t *testing.T) {
	w := newWorld(t, nil, Options{MaxBody: 1000})
	defer time.Sleep(time.Second)
	defer w.end()
	client, address := w.serve(auth.Local)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`
	for _, tt := range []struct {
		method, path, body, media string
		status                    int
	}{
		{http.MethodPost, "", list, "application/json", http.StatusOK},
		{http.MethodPost, "/", list, "application/json", http.StatusOK},
		{http.MethodPost, "x", list, "application/json", http.StatusNotFound},
		{http.MethodGet, "", "", "", http.StatusMethodNotAllowed},
		{http.MethodDelete, "", "", "", http.StatusMethodNotAllowed},
		{http.MethodPost, "", list, "text/plain", http.StatusUnsupportedMediaType},
		{http.MethodPost, "", "{", "application/json", http.StatusBadRequest},
		{http.MethodPost, "", " [" + list + "]", "application/json", http.StatusBadRequest},
		{http.MethodPost, "", strings.Repeat(" ", 1001), "application/json", http.StatusRequestEntityTooLarge},
	} {
		r, err := http.NewRequest(tt.method, address+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", tt.media)
		r.Header.Set("Accept", "application/json, text/event-stream")
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != tt.status {
			t.Errorf("%s %s with %.20q = %d %s, want %d", tt.method, tt.path, tt.body, answer.StatusCode, text, tt.status)
		}
		if answer.Header.Get("Mcp-Session-Id") != "" {
			t.Error("the server made a session; it must be stateless")
		}
	}
}

// TestSlowBody: a body that does not arrive in time is refused.
func TestSlowBody(t *testing.T) {
	w := newWorld(t, nil, Options{})
	defer w.end()
	reader, writer := io.Pipe()
	defer writer.Close()
	time.AfterFunc(10*time.Millisecond, func() { writer.CloseWithError(io.ErrUnexpectedEOF) })
	r, err := http.NewRequest(http.MethodPost, "http://localhost/mcp", reader)
	if err != nil {
		t.Fatal(err)
	}
	answer := &recorder{header: http.Header{}}
	w.server.Handler().ServeHTTP(answer, r)
	if answer.status != http.StatusBadRequest || !strings.Contains(answer.body.String(), "did not arrive") {
		t.Errorf("a broken body = %d %s, want 400", answer.status, answer.body.String())
	}
}

type recorder struct {
	header http.Header
	status int
	body   strings.Builder
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
