package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/serve"
	"github.com/leasehold/leasehold/server/auth"
)

func TestFilter(t *testing.T) {
	s := start(t, nil)
	s.acquire("prod:a", "anna", 600, map[string]string{"zone": "eu", "job": "1"})
	s.acquire("prod:b", "ben", 600, map[string]string{"zone": "us"})
	s.acquire("test:c", "anna", 600, map[string]string{"zone": "eu"})
	b := s.open("/console/")
	names := `[...document.querySelectorAll('#rows tr')].map((r) => r.dataset.name).join(' ')`
	for _, f := range []struct{ field, value, want, address string }{
		{"#prefix", "prod:", "prod:a prod:b", "prefix=prod%3A"},
		{"#holder", "anna", "prod:a test:c", "holder=anna"},
		{"#metadata0", "zone=eu", "prod:a test:c", "metadata=zone%3Deu"},
	} {
		b.visit("/console/")
		b.fill(f.field, f.value)
		b.submit(".filter button")
		if got := eval[string](b, names); got != f.want {
			t.Errorf("the filter %s=%s shows %q, want %q", f.field, f.value, got, f.want)
		}
		if at := eval[string](b, `location.search`); !strings.Contains(at, f.address) {
			t.Errorf("the address is %q, want %s in it", at, f.address)
		}
		b.shows("#count", "2")
	}
	b.visit("/console/?metadata=zone%3Deu&metadata=job%3D1")
	if got := eval[string](b, names); got != "prod:a" {
		t.Errorf("two pairs of metadata show %q, want prod:a", got)
	}
	// Live updates are filtered, too.
	b.visit("/console/?holder=anna")
	b.live()
	s.acquire("prod:d", "ben", 600, nil)
	s.acquire("prod:e", "anna", 600, nil)
	b.until(`document.querySelectorAll('#rows tr').length === 3`)
	if got, want := eval[string](b, names), "prod:a prod:e test:c"; got != want {
		t.Errorf("the filtered page shows %q, want %q", got, want)
	}
}

// Break, force-release and settings need a reason, and it stands in the history.
func TestActions(t *testing.T) {
	s := start(t, nil)
	s.acquire("deploy", "ci:1", 600, nil)
	s.acquire("other", "ci:1", 600, nil)
	s.acquire("stuck", "ci:2", 600, nil)

	b := s.open("/console/resource?name=stuck")
	b.click("details.danger summary")
	b.fill("#reason", "the <b>runner</b> is gone")
	b.submit("details.danger button")
	b.shows(".done", "broken")
	b.shows("#now", "broken")
	b.shows("#history q", "the <b>runner</b> is gone")

	b.visit("/console/holder?name=ci:1")
	b.shows("#held", "deploy")
	b.click("details.danger summary")
	b.click("details.danger button") // without a reason the browser refuses
	if at := eval[string](b, `location.pathname`); at != "/console/holder" {
		t.Errorf("a form without a reason led to %s", at)
	}
	b.fill("#reason", "machine 7 burnt down")
	b.submit("details.danger button")
	b.shows(".done", "released")
	b.shows("#held", "It holds nothing")
	b.shows("#history q", "machine 7 burnt down")
	_, history := s.call("GET", "/v1/history?event=force_released", nil)
	records := history["history"].([]any)
	if len(records) != 2 || records[0].(map[string]any)["reason"] != "machine 7 burnt down" {
		t.Errorf("the history has %v, want two force-released with the reason", records)
	}

	b.visit("/console/settings")
	b.click(`summary[aria-label="Change max_leases"]`)
	b.fill("#value-max_leases", "4711")
	b.fill("#reason-max_leases", "the disk is small")
	b.submit(`details[open] button`)
	b.shows(".done", "changed")
	b.shows("td.changed", "4711")
	b.shows(".events", "the disk is small")
	_, config := s.call("GET", "/v1/config", nil)
	for _, each := range config["settings"].([]any) {
		if c := each.(map[string]any); c["key"] == "max_leases" && c["value"] != 4711.0 {
			t.Errorf("max_leases is %v, want 4711", c["value"])
		}
	}
}

// withTokens starts a server that asks for tokens, and returns one of each role.
func withTokens(t *testing.T) (s *site, reader, operator, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "tokens")
	make := func(name string, roles ...auth.Role) string {
		secret, err := auth.CreateToken(file, auth.TokenSpec{Name: name, Roles: roles})
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	reader, operator = make("eyes", auth.RoleReader), make("ops", auth.RoleReader, auth.RoleOperator)
	holder := make("worker", auth.RoleHolder, auth.RoleReader)
	s = start(t, func(o *serve.Options) { o.TokenFile = file })
	s.secret = holder
	return s, reader, operator, file
}

func (b *tab) logIn(secret string) {
	b.t.Helper()
	b.fill("#token", secret)
	b.submit(".login button")
}

func TestLogin(t *testing.T) {
	s, reader, operator, file := withTokens(t)
	s.acquire("deploy", "ci:1", 600, nil)
	b := s.open("/console/resource?name=deploy")
	b.shows("h1", "Log in")
	b.logIn("lh_wrong")
	b.shows(".problem", "not known")
	b.logIn(reader)
	if at := eval[string](b, `location.pathname + location.search`); at != "/console/resource?name=deploy" {
		t.Errorf("after the login the page is %s, want the one that was wanted", at)
	}
	b.shows(".who", "eyes")
	b.live()
	// A reader sees no dangerous button anywhere.
	for _, path := range []string{"/console/resource?name=deploy", "/console/holder?name=ci:1", "/console/settings", "/console/", "/console/waits", "/console/plots", "/console/health"} {
		b.visit(path)
		if n := eval[int](b, `document.querySelectorAll('form[method=post]:not([action="/console/logout"])').length`); n != 0 {
			t.Errorf("a reader sees %d forms that change something on %s, want none", n, path)
		}
	}
	// The cookie is not for scripts, nor for the API.
	if cookie := eval[string](b, `document.cookie`); cookie != "" {
		t.Errorf("scripts see the cookie %q", cookie)
	}
	if status := eval[int](b, `fetch('/v1/leases').then((r) => r.status)`); status != 401 {
		t.Errorf("the API answers the console's page with %d, want 401", status)
	}
	b.visit("/console/")
	b.live()
	b.submit(".who button")
	b.shows("h1", "Log in")
	b.visit("/console/")
	b.shows("h1", "Log in")

	b.logIn(operator)
	b.visit("/console/resource?name=deploy")
	b.click("details.danger summary")
	b.fill("#reason", "an operator may")
	b.submit("details.danger button")
	b.shows("#history q", "an operator may")
	b.live()

	// A token that is revoked ends its sessions and streams.
	if err := auth.RevokeToken(file, "ops"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file, time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	b.shows("h1", "Log in")
	b.until(`location.pathname === '/console/login'`)
}
