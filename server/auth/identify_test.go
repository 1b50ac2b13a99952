package auth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBearer(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleHolder}})
	g, _ := newGuard(t, Options{TokenFile: path})
	tests := []struct {
		name   string
		header []string
		ok     bool
	}{
		{"right", []string{bearerHeader(secret)}, true},
		{"small letters", []string{"Authorization: bearer " + secret}, true},
		{"two spaces", []string{"Authorization: Bearer  " + secret}, true},
		{"none", nil, false},
		{"empty", []string{"Authorization: "}, false},
		{"no token", []string{"Authorization: Bearer"}, false},
		{"no scheme", []string{"Authorization: " + secret}, false},
		{"other scheme", []string{"Authorization: Basic " + secret}, false},
		{"unknown", []string{bearerHeader(newSecret())}, false},
		{"cut short", []string{bearerHeader(secret[:len(secret)-1])}, false},
		{"too long", []string{bearerHeader(secret + "A")}, false},
		{"without the prefix", []string{bearerHeader(strings.TrimPrefix(secret, "lh_"))}, false},
		{"the hash", []string{bearerHeader(hashText(hashOf(secret)))}, false},
		{"twice", []string{bearerHeader(secret), bearerHeader(secret)}, false},
		{"in a cookie", []string{"Cookie: token=" + secret}, false},
		{"in another header", []string{"X-Token: " + secret}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request("GET", "/v1/leases", tt.header...)
			if tt.ok {
				wantCaller(t, g, r, "ci")
			} else {
				wantCode(t, g, r, 401, "unauthenticated")
			}
		})
	}
}

func hashText(h hash) string { text, _ := h.MarshalText(); return string(text) }

// TestTokenInTheURL is worth nothing, wherever it stands.
func TestTokenInTheURL(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleHolder}})
	g, log := newGuard(t, Options{TokenFile: path})
	for _, target := range []string{"/v1/leases?access_token=" + secret, "/v1/leases?token=" + secret, "/" + secret} {
		wantCode(t, g, request("GET", target), 401, "unauthenticated")
	}
	r := request("GET", "/v1/leases")
	r.SetBasicAuth("ci", secret)
	wantCode(t, g, r, 401, "unauthenticated")
	if strings.Contains(log.String(), secret) {
		t.Error("the log has a secret that was sent in a URL")
	}
}

func TestChallenge(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleHolder}})
	g, _ := newGuard(t, Options{TokenFile: path})
	for header, want := range map[string]string{
		"Accept: */*":             `Bearer realm="leasehold"`,
		bearerHeader(newSecret()): `Bearer realm="leasehold", error="invalid_token"`,
	} {
		answer, _ := send(t, g, request("GET", "/", header))
		if got := answer.Header.Get("WWW-Authenticate"); got != want {
			t.Errorf("WWW-Authenticate = %q, want %q", got, want)
		}
	}
}

// TestPathsWithoutToken are three, exactly as they are spelt, to read.
func TestPathsWithoutToken(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleHolder}})
	g, _ := newGuard(t, Options{TokenFile: path})
	for _, target := range []string{"/healthz", "/health/live", "/health/ready", "/healthz?verbose=1"} {
		wantCaller(t, g, request("GET", target, "Host: 10.0.0.7:8105"), "")
		wantCaller(t, g, request("HEAD", target), "")
		wantCode(t, g, request("POST", target), 401, "unauthenticated")
	}
	for _, target := range []string{
		"/", "/health/leasing", "/metrics", "/openapi.json", "/docs", "/v1/leases", "/healthz/",
		"/healthz/../v1/leases", "//healthz", "/health%7A", "/health%2Flive", "/HEALTHZ", "/healthzz",
	} {
		wantCode(t, g, request("GET", target), 401, "unauthenticated")
	}
}

// TestHostWithTokens is anybody's choice: the server may have any name.
func TestHostWithTokens(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleHolder}})
	g, _ := newGuard(t, Options{TokenFile: path})
	wantCaller(t, g, request("POST", "/", "Host: leases.example", bearerHeader(secret)), "ci")
	wantCaller(t, g, request("GET", "/", "Origin: https://evil.example", bearerHeader(secret)), "ci")
	wantCaller(t, g, request("POST", "/", "Origin: http://localhost:8105", bearerHeader(secret)), "ci")
	for _, headers := range [][]string{
		{"Origin: https://evil.example"}, {"Origin: null"}, {"Sec-Fetch-Site: cross-site"}, {"Sec-Fetch-Site: same-site"},
	} {
		wantCode(t, g, request("POST", "/", append(headers, bearerHeader(secret))...), 403, "forbidden")
		wantCode(t, g, request("DELETE", "/", append(headers, bearerHeader(secret))...), 403, "forbidden")
	}
}

func TestCallerReachesTheHandler(t *testing.T) {
	path := tokenPath(t)
	spec := TokenSpec{
		Name: "ci", Roles: []Role{RoleHolder, RoleReader}, Holders: []string{"ci:*"}, Resources: []string{"deploy:*", "x"},
		Expires: new(time.Now().Add(time.Hour)),
	}
	secret := mustCreate(t, path, spec)
	g, _ := newGuard(t, Options{TokenFile: path})
	var got Caller
	g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = From(r.Context()) })).
		ServeHTTP(httptest.NewRecorder(), request("GET", "/", bearerHeader(secret)))
	want := Caller{Name: "ci", Roles: spec.Roles, Holders: spec.Holders, Resources: spec.Resources}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("From() differs (-want +got):\n%s", diff)
	}
}

func TestNewRefuses(t *testing.T) {
	broken := tokenPath(t)
	writeFile(t, broken, "{}\n")
	for name, path := range map[string]string{
		"no file": tokenPath(t), "a directory": t.TempDir(), "a broken file": broken,
	} {
		if g, err := New(&Options{TokenFile: path}); err == nil {
			g.Close()
			t.Errorf("New() with %s = nil, want an error", name)
		} else if !strings.Contains(err.Error(), path) {
			t.Errorf("New() with %s = %v, want the path in it", name, err)
		}
	}
	g, err := New(nil)
	if err != nil {
		t.Fatalf("New(nil) = %v", err)
	}
	g.Close()
}
