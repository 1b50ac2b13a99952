package console

import (
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
)

// history returns the newest record of a kind.
func (s *site) newest(kind leasehold.Kind) leasehold.Record {
	s.t.Helper()
	page, err := s.store.(leasehold.Historian).History(s.t.Context(), leasehold.HistoryRequest{Kind: kind, Limit: 1})
	if err != nil || len(page.Records) != 1 {
		s.t.Fatalf("History(%s) = %v, %v; want a record", kind, page.Records, err)
	}
	return page.Records[0]
}

func TestActions(t *testing.T) {
	s := start(t, nil, "")
	populate(s)
	secret := s.secret()
	form := func(pairs ...string) url.Values {
		f := url.Values{"secret": {secret}, "reason": {"a good reason"}}
		for i := 0; i < len(pairs); i += 2 {
			f.Set(pairs[i], pairs[i+1])
		}
		return f
	}
	for _, try := range []struct {
		path   string
		form   url.Values
		status int
		part   string // of the page, or of the address of the next one
	}{
		{"/console/break", form("resource", "deploy", "token", "1", "reason", " "), 400, "reason is missing"},
		{"/console/break", form("resource", "deploy", "token", "1", "reason", strings.Repeat("x", 1025)), 400, "the limit is 1024"},
		{"/console/break", form("resource", "deploy", "token", "1", "period", "61"), 400, "0 to 60"},
		{"/console/break", form("resource", "deploy", "token", "1", "period", "NaN"), 400, "0 to 60"},
		{"/console/break", form("resource", "deploy", "token", "77"), 400, "not that of the lease"},
		{"/console/break", form("resource", "never", "token", "1"), 400, "nothing to break"},
		{"/console/break", form("resource", "", "token", "1"), 400, "resource"},
		{"/console/break", form("resource", "printer", "token", "2", "secret", "guessed"), 403, "another login"},
		{"/console/break", form("resource", "deploy", "token", "1", "period", "30"), 303, "done=breaking"},
		{"/console/break", form("resource", "printer", "token", "2"), 303, "done=broken"},
		{"/console/release", form("holder", ""), 400, "holder"},
		{"/console/release", form("holder", "agent", "reason", ""), 400, "reason"},
		{"/console/release", form("holder", "agent"), 303, "done=released"},
		{"/console/settings", form("key", "nonsense", "value", "1"), 400, "no setting"},
		{"/console/settings", form("key", "max_leases", "value", "many"), 400, "whole number"},
		{"/console/settings", form("key", "max_leases", "value", "-7"), 400, "want -1"},
		{"/console/settings", form("key", "max_leases", "value", "4711"), 303, "done=set"},
		{"/console/settings", form("key", "history_renewals", "value", "false"), 303, "done=set"},
	} {
		a := s.post(try.path, try.form)
		if a.status != try.status || !strings.Contains(a.body+a.header.Get("Location"), try.part) {
			t.Errorf("POST %s %v = %d %q\n%.900s\nwant %d and %q", try.path, try.form, a.status, a.header.Get("Location"), a.body, try.status, try.part)
		}
	}
	for _, kind := range []leasehold.Kind{leasehold.KindBreaking, leasehold.KindBroken, leasehold.KindForceReleased, leasehold.KindConfigured} {
		if got := s.newest(kind).Why; got != "a good reason" {
			t.Errorf("the record %s has the reason %q", kind, got)
		}
	}
	s.shows("/console/settings?done=set", http.StatusOK, "4711", "a good reason", "is changed")
	if a := s.send(http.MethodPost, "/console/break", strings.Repeat("x", maxForm+1), "Content-Type: application/x-www-form-urlencoded", "Origin: "+s.http.URL); a.status != 400 {
		t.Errorf("a form that is too large = %d, want 400", a.status)
	}
}

// Only forms of this server's own pages change anything.
func TestForeignForms(t *testing.T) {
	s := start(t, nil, "")
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	form := url.Values{"secret": {s.secret()}, "resource": {"deploy"}, "token": {"1"}, "reason": {"foreign"}}.Encode()
	const media = "Content-Type: application/x-www-form-urlencoded"
	own := "Origin: " + s.http.URL
	for _, headers := range [][]string{
		{media}, {media, "Origin: https://evil.example"}, {media, "Origin: null"}, {media, own, "Sec-Fetch-Site: cross-site"},
		{media, own, "Sec-Fetch-Site: same-site"}, {"Content-Type: application/json", own}, {"Content-Type: text/plain", own},
		{"Content-Type: multipart/form-data; boundary=x", own}, {media, "Origin: http://127.0.0.1:1"},
	} {
		if a := s.send(http.MethodPost, "/console/break", form, headers...); a.status != 403 && a.status != 415 {
			t.Errorf("POST with %q = %d, want a refusal", headers, a.status)
		}
	}
	if status, err := s.store.Status(t.Context(), "deploy"); err != nil || !status.Locked() {
		t.Errorf("Status = %+v, %v; want the lease untouched", status, err)
	}
	if a := s.send(http.MethodPost, "/console/break", form, media, own, "Sec-Fetch-Site: same-origin"); a.status != 303 {
		t.Errorf("the page's own form = %d, want 303", a.status)
	}
	r, err := http.NewRequest(http.MethodGet, s.http.URL+"/console/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusForbidden {
		t.Errorf("a foreign Host = %d, want 403", a.StatusCode)
	}
}

func TestLogin(t *testing.T) {
	file, secrets := tokenFile(t)
	s := start(t, nil, file)
	s.acquire(leasehold.AcquireRequest{Resource: "deploy", Holder: "ci:1", TTL: time.Hour})
	a := s.get("/console/resource?name=deploy")
	if want := "/console/login?next=%2Fconsole%2Fresource%3Fname%3Ddeploy"; a.status != 303 || a.header.Get("Location") != want {
		t.Errorf("GET without a login = %d to %q, want %q", a.status, a.header.Get("Location"), want)
	}
	s.shows("/console/login", http.StatusOK, "Paste a token")
	s.shows("/console/stream?of=leases", http.StatusUnauthorized)
	if a := s.post("/console/break", url.Values{"resource": {"deploy"}}); a.status != http.StatusUnauthorized {
		t.Errorf("POST without a login = %d, want 401", a.status)
	}
	if a := s.get("/console/", "Authorization: Bearer "+secrets["reader"]); a.status != 303 {
		t.Errorf("a bearer token opens the console with %d, want the login", a.status)
	}
	if a := s.logIn(secrets["holder"]); a.status != 403 || !strings.Contains(a.body, "role reader") || s.cookie != nil {
		t.Errorf("a holder's login = %d, cookie %v, want 403 and none", a.status, s.cookie)
	}
	if a := s.logIn("lh_wrong"); a.status != 401 || s.cookie != nil {
		t.Errorf("a wrong token = %d, cookie %v, want 401 and none", a.status, s.cookie)
	}

	if a := s.logIn(secrets["reader"]); a.status != 303 || a.header.Get("Location") != "/console/settings" {
		t.Fatalf("login = %d to %q, want 303 to the settings", a.status, a.header.Get("Location"))
	}
	if c := s.cookie; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/console/" || c.MaxAge <= 0 || strings.Contains(c.Value, secrets["reader"]) {
		t.Errorf("the cookie is %v", c)
	}
	for _, path := range []string{"/console/", "/console/resource?name=deploy", "/console/holder?name=ci:1", "/console/settings"} {
		page := s.shows(path, http.StatusOK, "reader")
		for _, bad := range []string{"/console/break", "/console/release", `name="reason"`} {
			if strings.Contains(page.body, bad) {
				t.Errorf("a reader sees %q on %s", bad, path)
			}
		}
	}
	for _, path := range []string{"/console/break", "/console/release", "/console/settings"} {
		if a := s.post(path, url.Values{"reason": {"x"}}); a.status != http.StatusForbidden {
			t.Errorf("a reader's POST %s = %d, want 403", path, a.status)
		}
	}
	if a := s.get("/console/login?next=//evil.example/"); a.status != 303 || a.header.Get("Location") != "/console/" {
		t.Errorf("the login page with a login = %d to %q, want the table", a.status, a.header.Get("Location"))
	}
	page := s.get("/console/")
	logout := secretField.FindStringSubmatch(page.body)[1]
	if a := s.post("/console/logout", url.Values{}); a.status != 403 {
		t.Errorf("a logout without the form's secret = %d, want 403", a.status)
	}
	if a := s.post("/console/logout", url.Values{"secret": {logout}}); a.status != 303 {
		t.Errorf("logout = %d, want 303", a.status)
	}
	if a := s.get("/console/"); a.status != 303 {
		t.Errorf("GET after the logout = %d, want the login", a.status)
	}

	s.logIn(secrets["operator"])
	operator := secretField.FindStringSubmatch(s.get("/console/settings").body)[1]
	if operator == logout {
		t.Error("two logins have forms with the same secret")
	}
	if a := s.post("/console/release", url.Values{"holder": {"ci:1"}, "reason": {"x"}, "secret": {logout}}); a.status != 403 {
		t.Errorf("a form of another login = %d, want 403", a.status)
	}
	if a := s.post("/console/release", url.Values{"holder": {"ci:1"}, "reason": {"x"}, "secret": {operator}}); a.status != 303 {
		t.Errorf("the operator's form = %d, want 303", a.status)
	}
	if err := auth.RevokeToken(file, "operator"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Now(), time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.server.o.Guard.Reload(); err != nil {
		t.Fatal(err)
	}
	if a := s.get("/console/"); a.status != 303 {
		t.Errorf("GET with a revoked token's session = %d, want the login", a.status)
	}
	s.cookie = nil
	limited := false
	for range 30 {
		if a := s.post("/console/login", url.Values{"token": {"lh_guess"}}); a.status == http.StatusTooManyRequests {
			limited = true
		}
	}
	if !limited {
		t.Error("30 wrong tokens in a row are all looked at, want 429")
	}
	if a := s.logIn(secrets["reader"]); a.status != 303 {
		t.Errorf("the right token among wrong ones = %d, want 303", a.status)
	}
}

func TestLoginOnOpenServer(t *testing.T) {
	s := start(t, nil, "")
	if a := s.post("/console/login", url.Values{"token": {"x"}}); a.status != 400 {
		t.Errorf("a login to an open server = %d, want 400", a.status)
	}
}

func TestSafeNext(t *testing.T) {
	for next, want := range map[string]string{
		"": "/console/", "/console/waits": "/console/waits", "/console/resource?name=a%26b": "/console/resource?name=a%26b",
		"https://evil.example/console/": "/console/", "//evil.example/console/": "/console/", "/v1/leases": "/console/",
		`/console/\evil`: "/console/", "javascript:x": "/console/", "%zz": "/console/",
	} {
		if got := safeNext(next); got != want {
			t.Errorf("safeNext(%q) = %q, want %q", next, got, want)
		}
	}
}
