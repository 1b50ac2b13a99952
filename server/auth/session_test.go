package auth

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// page makes a request for the console as a browser sends it.
func page(method, target string, cookies []*http.Cookie, headers ...string) *http.Request {
	r := request(method, target, headers...)
	for _, c := range cookies {
		r.AddCookie(c)
	}
	return r
}

func logIn(t *testing.T, g *Guard, secret string, roles ...Role) ([]*http.Cookie, error) {
	t.Helper()
	w := httptest.NewRecorder()
	_, err := g.Login(w, page("POST", "/console/login", nil), secret, roles...)
	return w.Result().Cookies(), err
}

// visitor returns who a request for the console is taken for; empty is nobody.
func visitor(g *Guard, r *http.Request) (name string, status int) {
	w := httptest.NewRecorder()
	g.WrapConsole(whoami).ServeHTTP(w, r)
	return w.Header().Get("Caller"), w.Code
}

func TestSessions(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "eyes", Roles: []Role{RoleReader}})
	g, _ := newGuard(t, Options{TokenFile: path})
	if _, err := logIn(t, g, secret, RoleOperator); leasehold.ReasonOf(err) != leasehold.ReasonForbidden {
		t.Errorf("Login without the role = %v, want forbidden", err)
	}
	cookies, err := logIn(t, g, secret, RoleOperator, RoleReader)
	if err != nil || len(cookies) != 1 {
		t.Fatalf("Login = %v, cookies %v", err, cookies)
	}
	for _, try := range []struct {
		what    string
		cookies []*http.Cookie
		headers []string
		name    string
	}{
		{"the cookie", cookies, nil, "eyes"}, {"no cookie", nil, nil, ""}, {"two cookies", append(cookies, cookies...), nil, ""},
		{"another cookie", []*http.Cookie{{Name: "leasehold", Value: newSecret()}}, nil, ""},
		{"the token itself as a cookie", []*http.Cookie{{Name: "leasehold", Value: secret}}, nil, ""},
		{"a bearer token", nil, []string{"Authorization: Bearer " + secret}, ""},
	} {
		if name, status := visitor(g, page("GET", "/console/", try.cookies, try.headers...)); name != try.name || status != 204 {
			t.Errorf("with %s the visitor is %q (%d), want %q", try.what, name, status, try.name)
		}
	}
	// The cookie opens nothing but the console.
	w := httptest.NewRecorder()
	g.Wrap(whoami).ServeHTTP(w, page("GET", "/v1/leases", cookies))
	if w.Code != http.StatusUnauthorized {
		t.Errorf("the API answers the cookie with %d, want 401", w.Code)
	}
	for stored := range g.sessions.byHash {
		if text, _ := stored.MarshalText(); string(text) == cookies[0].Value {
			t.Error("the session's id is kept as it is")
		}
	}
	g.Logout(httptest.NewRecorder(), page("POST", "/console/logout", cookies))
	if name, _ := visitor(g, page("GET", "/console/", cookies)); name != "" {
		t.Errorf("after the logout the visitor is %q", name)
	}
}

// The session's cookie is for the console alone, not for scripts, not for other sites'
// requests, and over TLS for TLS alone.
func TestSessionCookie(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "eyes", Roles: []Role{RoleReader}})
	g, _ := newGuard(t, Options{TokenFile: path})
	for name, state := range map[string]*tls.ConnectionState{"leasehold": nil, "__Secure-leasehold": {}} {
		r, w := page("POST", "/console/login", nil), httptest.NewRecorder()
		r.TLS = state
		if _, err := g.Login(w, r, secret, RoleReader); err != nil {
			t.Fatal(err)
		}
		cookies := w.Result().Cookies()
		c := cookies[0]
		if len(cookies) != 1 || c.Name != name || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != ConsolePath ||
			c.Domain != "" || c.Secure != (state != nil) || c.MaxAge != int(SessionLife.Seconds()) {
			t.Errorf("the cookie is %v", cookies)
		}
		for _, tls := range []*tls.ConnectionState{nil, {}} {
			r := page("GET", "/console/", cookies)
			r.TLS = tls
			if who, _ := visitor(g, r); (who == "eyes") != ((tls != nil) == c.Secure) {
				t.Errorf("with %s, TLS: %v, the visitor is %q", name, tls != nil, who)
			}
		}
	}
}

// Behind a proxy that ends TLS the browser keeps the cookie to TLS as well.
func TestSessionCookieBehindProxy(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "eyes", Roles: []Role{RoleReader}})
	g, _ := newGuard(t, Options{TokenFile: path})
	r, w := page("POST", "/console/login", nil, "Origin: https://localhost:8105"), httptest.NewRecorder()
	if _, err := g.Login(w, r, secret, RoleReader); err != nil {
		t.Fatal(err)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].Secure {
		t.Errorf("the cookie is %v, want a secure one", cookies)
	}
	if who, _ := visitor(g, page("GET", "/console/", cookies)); who != "eyes" {
		t.Errorf("the visitor is %q, want eyes", who)
	}
}

// A session ends at its time, and with its token.
func TestSessionsEnd(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "eyes", Roles: []Role{RoleReader}})
	g, _ := newGuard(t, Options{TokenFile: path})
	e := g.tokens.Load().byName["eyes"]
	now := time.Now()
	id := g.sessions.add(e, now)
	if s, _ := g.sessions.find(id, now.Add(SessionLife-time.Second)); s == nil {
		t.Error("a session ends before its time")
	}
	if s, _ := g.sessions.find(id, now.Add(SessionLife)); s != nil {
		t.Error("a session outlives its time")
	}
	cookies, err := logIn(t, g, secret, RoleReader)
	if err != nil {
		t.Fatal(err)
	}
	if err := RevokeToken(path, "eyes"); err != nil {
		t.Fatal(err)
	}
	if err := g.Reload(); err != nil {
		t.Fatal(err)
	}
	if name, _ := visitor(g, page("GET", "/console/", cookies)); name != "" {
		t.Errorf("after the token's end the visitor is %q", name)
	}
	for range maxSessions + 5 {
		g.sessions.add(&entry{row: row{}, life: t.Context()}, now)
	}
	if n := len(g.sessions.byHash); n > maxSessions {
		t.Errorf("%d sessions are kept, want at most %d", n, maxSessions)
	}
}

func TestLoginIsLimited(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "eyes", Roles: []Role{RoleReader}})
	g, _ := newGuard(t, Options{TokenFile: path})
	limited := false
	for range 20 {
		_, err := logIn(t, g, "lh_guess", RoleReader)
		limited = limited || leasehold.ReasonOf(err) == leasehold.ReasonRateLimited
	}
	if !limited {
		t.Error("20 wrong tokens at once are all looked at")
	}
	if _, err := logIn(t, g, secret, RoleReader); err != nil {
		t.Errorf("the right token among wrong ones = %v", err)
	}
	open, _ := newGuard(t, Options{})
	if _, err := logIn(t, open, secret, RoleReader); leasehold.ReasonOf(err) != leasehold.ReasonInvalid || !open.Open() || g.Open() {
		t.Errorf("Login to an open listener = %v, want that none is needed", err)
	}
}

// Which requests for the console are refused, with tokens and without.
func TestConsoleRequests(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "eyes", Roles: []Role{RoleReader}})
	closed, _ := newGuard(t, Options{TokenFile: path})
	open, _ := newGuard(t, Options{})
	const form, own = "Content-Type: application/x-www-form-urlencoded", "Origin: http://localhost:8105"
	for _, try := range []struct {
		method  string
		headers []string
		status  int
	}{
		{"GET", nil, 204},
		{"GET", []string{"Sec-Fetch-Site: cross-site"}, 403},
		{"GET", []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document", "Sec-Fetch-User: ?1"}, 204},
		{"POST", []string{form, own}, 204},
		{"POST", []string{form, "Sec-Fetch-Site: same-origin"}, 204},
		{"POST", []string{form}, 403},
		{"POST", []string{form, "Origin: null"}, 403},
		{"POST", []string{form, "Origin: http://localhost:9999"}, 403},
		{"POST", []string{form, own, "Sec-Fetch-Site: same-site"}, 403},
		{"POST", []string{"Content-Type: application/json", own}, 415},
	} {
		for what, g := range map[string]*Guard{"with tokens": closed, "open": open} {
			if _, status := visitor(g, page(try.method, "/console/x", nil, try.headers...)); status != try.status {
				t.Errorf("%s %v %s = %d, want %d", try.method, try.headers, what, status, try.status)
			}
		}
	}
	// A proxy that ends TLS may stand in front of a listener with tokens only.
	for host, origin := range map[string]string{"localhost:8105": "https://localhost:8105", "localhost": "https://localhost"} {
		headers := []string{"Host: " + host, form, "Origin: " + origin}
		if _, status := visitor(closed, page("POST", "/console/x", nil, headers...)); status != 204 {
			t.Errorf("%v with tokens = %d, want 204", headers, status)
		}
		if _, status := visitor(open, page("POST", "/console/x", nil, headers...)); status != 403 {
			t.Errorf("%v without = %d, want 403", headers, status)
		}
	}
	for _, origin := range []string{"https://localhost", "https://evil.example:8105", "http://localhost"} {
		if _, status := visitor(closed, page("POST", "/console/x", nil, form, "Origin: "+origin)); status != 403 {
			t.Errorf("Origin %s of localhost:8105 = %d, want 403", origin, status)
		}
	}
	if name, _ := visitor(open, page("GET", "/console/", nil)); name != "local" {
		t.Errorf("the visitor of an open listener is %q, want local", name)
	}
	if _, status := visitor(open, page("GET", "/console/", nil, "Host: evil.example")); status != 403 {
		t.Errorf("a foreign Host = %d, want 403", status)
	}
}
