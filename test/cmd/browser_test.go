//go:build unix

package cmd_test

import (
	"net/http"
	"strings"
	"testing"
)

// Requests that a web page makes its reader's browser send, also through a name that
// an attacker has pointed at this machine, change and reveal nothing.
func TestRefusesWebPages(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	s.acquire("r", "a", "")
	const breakIt = `{"resource":"r"}`
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
	}{
		{"a foreign page's fetch", "POST", "/v1/leases/break", breakIt, []string{"Origin", "https://evil.example"}, 403},
		{"a page on another port", "POST", "/v1/leases/break", breakIt, []string{"Origin", "http://127.0.0.1:3000"}, 403},
		{"a page in a sandbox", "POST", "/v1/leases/break", breakIt, []string{"Origin", "null"}, 403},
		{"a form", "POST", "/v1/leases/break", breakIt, []string{"Content-Type", "text/plain"}, 415},
		{"a form, urlencoded", "POST", "/v1/holders/a/release", "", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"a form with a foreign origin", "POST", "/v1/leases/cleanup", "", []string{"Content-Type", "text/plain", "Origin", "https://evil.example"}, 403},
		{"a fetch that says so", "POST", "/v1/leases/break", breakIt, []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a setting", "PUT", "/v1/config/default_ttl_seconds", `{"value":1}`, []string{"Origin", "https://evil.example"}, 403},
		{"reading", "GET", "/v1/leases", "", []string{"Origin", "https://evil.example"}, 403},
		{"reading without CORS", "GET", "/v1/leases", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"}, 403},
		{"an iframe that makes a backup", "GET", "/v1/backup", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"}, 403},
		{"an embedded blob", "GET", "/blob/devstoreaccount1/box/b", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "embed"}, 403},
		{"the page in a frame", "GET", "/docs", "", []string{"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "frame"}, 403},
		{"a script that opens a window", "GET", "/v1/backup", "", []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}, 403},
		{"asking first", "OPTIONS", "/v1/leases/break", "", []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "POST"}, 403},
		{"a rebound name", "GET", "/v1/leases", "", []string{"Host", "evil.example"}, 403},
		{"a rebound name with the port", "POST", "/v1/leases/break", breakIt, []string{"Host", "evil.example:8105", "Origin", "http://evil.example:8105"}, 403},
		{"a rebound name that looks right", "GET", "/v1/events", "", []string{"Host", "localhost.evil.example"}, 403},
		{"this machine, by address", "GET", "/v1/leases", "", []string{"Host", "192.0.2.7"}, 403},
	} {
		a, err := s.trySend(t.Context(), tt.method, tt.path, tt.body, tt.headers...)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if a.status != tt.status || strings.Contains(a.body, `"leases"`) || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s = %d %s, want %d, and no leave for other origins", tt.name, a.status, a.body, tt.status)
		}
	}
	if st := s.status("r"); st.at("locked") != "true" || st.at("lease.renewals") != "0" {
		t.Errorf("after all that the lease is %s, want it untouched", st.body)
	}
	// The server's own page may, and so may programs.
	for _, headers := range [][]string{{"Origin", s.url}, {"Host", "localhost:8105"}, {"Host", "[::1]"}, nil} {
		if a, err := s.trySend(t.Context(), http.MethodGet, "/v1/leases", "", headers...); err != nil || a.status != http.StatusOK {
			t.Errorf("with %q = %d %s, %v, want 200", headers, a.status, a.body, err)
		}
	}
}

// An uploaded blob is never a page of the API's origin, whatever the answer, and no
// page may show or read any answer.
func TestUploadsAreNoPages(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	const box, page = "/blob/devstoreaccount1/box", "/blob/devstoreaccount1/box/page.html"
	for _, tt := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{"PUT", box + "?restype=container", "", nil, 201},
		{"PUT", page, "<script>fetch('/v1/leases')</script>", []string{"x-ms-blob-type", "BlockBlob", "x-ms-blob-content-type", "text/html"}, 201},
		{"GET", page, "", nil, 200},
		{"GET", page, "", []string{"Range", "bytes=0-3"}, 206},
		{"HEAD", page, "", nil, 200},
		{"GET", box + "?restype=container&comp=list", "", nil, 200},
		{"GET", box + "/missing", "", nil, 404},
		{"DELETE", page, "", nil, 202},
	} {
		a, err := s.trySend(t.Context(), tt.method, tt.path, tt.body, tt.headers...)
		if err != nil || a.status != tt.status {
			t.Fatalf("%s %s = %d %s, %v, want %d", tt.method, tt.path, a.status, a.body, err, tt.status)
		}
		if policy := a.header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "sandbox;") || strings.Contains(policy, "allow-") {
			t.Errorf("%s %s has the policy %q, want a sandbox", tt.method, tt.path, policy)
		}
		wantNoPage(t, tt.method+" "+tt.path, a)
	}
	for _, path := range []string{"/docs", "/v1/leases", "/nowhere", "/healthz"} {
		wantNoPage(t, path, s.send(http.MethodGet, path, ""))
	}
	a, err := s.trySend(t.Context(), http.MethodGet, "/v1/leases", "", "Host", "evil.example")
	if err != nil {
		t.Fatal(err)
	}
	wantNoPage(t, "a refusal", a)
}

// wantNoPage checks that no browser shows the answer in a frame, guesses its type
// or lets another site have it.
func wantNoPage(t *testing.T, what string, a answer) {
	t.Helper()
	for name, value := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.header.Values(name); len(got) != 1 || got[0] != value {
			t.Errorf("%s has %s %q, want %s", what, name, got, value)
		}
	}
}
