package console

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// recorder passes connections on to a server and keeps every byte, in both directions.
type recorder struct {
	listener net.Listener
	running  sync.WaitGroup
	stalled  sync.RWMutex // held for writing: no byte passes

	mu    sync.Mutex
	bytes bytes.Buffer
}

// stall lets no byte pass, or all of them again.
func (r *recorder) stall(on bool) {
	if on {
		r.stalled.Lock()
		return
	}
	r.stalled.Unlock()
}

func record(t *testing.T, target string) *recorder {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &recorder{listener: listener}
	r.running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", target)
			if err != nil {
				client.Close()
				continue
			}
			r.running.Go(func() { r.copy(server, client) })
			r.running.Go(func() { r.copy(client, server) })
		}
	})
	return r
}

func (r *recorder) copy(to, from net.Conn) {
	_, _ = io.Copy(io.MultiWriter(r, to), from)
	to.Close()
}

func (r *recorder) Write(p []byte) (int, error) {
	r.stalled.RLock()
	defer r.stalled.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes.Write(p)
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bytes.String()
}

// No lease id is in any page or update: all bytes between browser and server are
// searched for the ids of all leases.
func TestNoLeaseID(t *testing.T) {
	s := start(t, nil)
	r := record(t, strings.TrimPrefix(s.url, "http://"))
	t.Cleanup(func() { r.listener.Close() })
	through := *s
	through.url = "http://" + r.listener.Addr().String()
	ids := []string{s.acquire("early", "anna", 600, nil)}
	b := through.open("/console/")
	b.live()
	ids = append(ids, s.acquire("late", "anna", 600, nil))
	b.until(rowOf("late"))
	waiting := s.wait(map[string]any{"resource": "late", "holder": "ben", "lease_id": "7b1f3a52-9d0c-4e7f-8a26-0f1e2d3c4b5a"})
	ids = append(ids, "7b1f3a52-9d0c-4e7f-8a26-0f1e2d3c4b5a")
	_, set := s.call("POST", "/v1/leases/acquire", map[string]any{"holder": "anna", "namespace": "shop", "paths": []any{map[string]any{"pattern": "src/**"}}})
	_, moved := s.call("POST", "/v1/leases/transfer", map[string]any{"lease_id": s.acquire("moved", "anna", 600, nil), "to_holder": "carl"})
	_, changed := s.call("POST", "/v1/leases/change", map[string]any{"lease_id": moved["lease_id"], "proposed_lease_id": "9a4c6d1e-5b7f-4e2a-8c3d-1f0e9d8c7b6a"})
	ids = append(ids, set["lease_id"].(string), moved["lease_id"].(string), changed["lease_id"].(string))
	b.until(rowOf("moved"))
	past := time.Now().UTC().Format(time.RFC3339Nano)
	for _, path := range append(append(pages, pastPages()...), "/console/resource?name=late", "/console/holder?name=anna", "/console/resource?name=moved", "/console/holder?name=carl", "/console/?at="+past) {
		b.visit(path)
	}
	b.visit("/console/resource?name=late")
	b.live()
	b.shows("#queue", "ben")
	s.release(ids[1])
	if status, _ := waiting(); status != http.StatusCreated {
		t.Fatalf("the waiter got %d", status)
	}
	b.shows("#now", "ben")
	b.click("details.danger summary")
	b.fill("#reason", "the test is over")
	b.submit("details.danger button")
	b.shows("#history q", "the test is over")
	text := strings.ToLower(r.text())
	if !strings.Contains(text, "event: rows") || !strings.Contains(text, "the+test+is+over") {
		t.Fatalf("the recorder has %d bytes, but not the updates and the form", len(text))
	}
	for _, id := range ids {
		for _, form := range []string{id, strings.ReplaceAll(id, "-", "")} {
			if strings.Contains(text, strings.ToLower(form)) {
				t.Errorf("the lease id %s is in the console's traffic", id)
			}
		}
	}
}

// The policy is strict, nothing breaks it, and a page of another origin changes nothing.
func TestPolicyAndForeignPages(t *testing.T) {
	s := start(t, nil)
	s.acquire("deploy", "ci:1", 600, nil)
	b := s.open("/console/resource?name=deploy")
	answer, err := http.Get(s.url + "/console/resource?name=deploy")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	policy := answer.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "form-action 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("the policy is %q, want %s in it", policy, part)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %q, want nothing unsafe", policy)
	}
	eval[any](b, `document.addEventListener('securitypolicyviolation', (e) => { window.violation = e.violatedDirective }), null`)
	eval[any](b, `(() => { const s = document.createElement('script'); s.textContent = 'window.injected = true'; document.body.append(s) })(), null`)
	b.until(`window.violation`)
	if eval[bool](b, `window.injected === true`) {
		t.Error("an injected script ran")
	}
	secret := eval[string](b, `document.querySelector('[name=secret]').value`)

	// A page of another origin submits the right form, even with the right secret.
	page := fmt.Sprintf(`<form method="post" action="%s/console/break"><input name="secret" value="%s"><input name="resource" value="deploy">
		<input name="token" value="1"><input name="reason" value="foreign"><button>Go</button></form>`, s.url, secret)
	foreign := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, page)
	}), ReadHeaderTimeout: time.Minute}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go foreign.Serve(listener)
	t.Cleanup(func() { foreign.Close() })
	other := *s
	other.url = "http://" + listener.Addr().String()
	o := other.open("/")
	o.click("button")
	o.shows("body", "forbidden")

	// And without the secret not even this server's own pages may.
	r, err := http.NewRequest("POST", s.url+"/console/break", strings.NewReader(url.Values{"resource": {"deploy"}, "token": {"1"}, "reason": {"forged"}, "secret": {"guessed"}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", s.url)
	answer, err = http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("a form with a guessed secret = %d, want 403", answer.StatusCode)
	}
	if _, page := s.call("GET", "/v1/leases?resource=deploy", nil); len(page["leases"].([]any)) != 1 {
		t.Errorf("the live leases are %v, want the one that was to be broken", page["leases"])
	}
}
