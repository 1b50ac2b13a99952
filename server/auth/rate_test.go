package auth

import (
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// burst sends n requests and returns how many passed, and the last refusal.
func burst(t *testing.T, g *Guard, n int, secret, remote string) (passed int, refused *http.Response) {
	t.Helper()
	for range n {
		r := request("GET", "/", bearerHeader(secret))
		r.RemoteAddr = remote
		answer, p := send(t, g, r)
		switch {
		case answer.StatusCode == http.StatusNoContent || answer.StatusCode == http.StatusUnauthorized:
			passed++
		case p.Code == "rate_limited" && p.RetryAfter != nil:
			refused = answer
		default:
			t.Errorf("request = %d %+v, want 429 rate_limited", answer.StatusCode, p)
		}
	}
	return passed, refused
}

func TestRatePerCaller(t *testing.T) {
	path := tokenPath(t)
	one := mustCreate(t, path, TokenSpec{Name: "one", Roles: []Role{RoleReader}})
	two := mustCreate(t, path, TokenSpec{Name: "two", Roles: []Role{RoleReader}})
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGuard(t, Options{TokenFile: path, Rate: 10, Burst: 5})
		passed, refused := burst(t, g, 8, one, "10.0.0.1:1")
		if passed != 5 {
			t.Errorf("%d of 8 at once passed, want the burst of 5", passed)
		}
		if got := refused.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After = %q, want 1: a tenth of a second, rounded up", got)
		}
		if passed, _ := burst(t, g, 5, two, "10.0.0.1:1"); passed != 5 {
			t.Errorf("%d of 5 of another token passed, want 5", passed)
		}
		time.Sleep(200 * time.Millisecond)
		if passed, _ := burst(t, g, 5, one, "10.0.0.2:2"); passed != 2 {
			t.Errorf("%d passed after 200 ms at 10/s, want 2, whatever the address", passed)
		}
	})
}

func TestRateDefaults(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "one", Roles: []Role{RoleReader}})
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGuard(t, Options{TokenFile: path})
		if passed, _ := burst(t, g, 2100, secret, "10.0.0.1:1"); passed != 2000 {
			t.Errorf("%d at once passed, want 2000", passed)
		}
		time.Sleep(500 * time.Millisecond)
		if passed, _ := burst(t, g, 600, secret, "10.0.0.1:1"); passed != 500 {
			t.Errorf("%d passed after half a second, want 500", passed)
		}
		free, _ := newGuard(t, Options{TokenFile: path, Rate: -1})
		if passed, _ := burst(t, free, 3000, secret, "10.0.0.1:1"); passed != 3000 {
			t.Errorf("%d passed without a limit, want 3000", passed)
		}
		slow, _ := newGuard(t, Options{TokenFile: path, Rate: 0.1})
		passed, refused := burst(t, slow, 2, secret, "10.0.0.1:1")
		if wait, _ := strconv.Atoi(refused.Header.Get("Retry-After")); passed != 1 || wait != 10 {
			t.Errorf("at one in ten seconds: %d passed, Retry-After %d, want 1 and 10", passed, wait)
		}
	})
}

// TestFailuresPerAddress slows strangers down, and nobody else.
func TestFailuresPerAddress(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleReader}})
	synctest.Test(t, func(t *testing.T) {
		g, log := newGuard(t, Options{TokenFile: path})
		passed, refused := burst(t, g, 60, newSecret(), "10.0.0.1:1")
		if passed != 50 || refused.Header.Get("Retry-After") != "1" {
			t.Errorf("%d failures were let go on, want 50", passed)
		}
		if passed, _ := burst(t, g, 1, newSecret(), "10.0.0.1:9999"); passed != 0 {
			t.Error("another port of the same address was let go on")
		}
		if passed, _ := burst(t, g, 1, newSecret(), "10.0.0.2:1"); passed != 1 {
			t.Error("another address was refused")
		}
		if passed, _ := burst(t, g, 100, secret, "10.0.0.1:1"); passed != 100 {
			t.Errorf("%d of 100 with a valid token passed, want all", passed)
		}
		time.Sleep(time.Second)
		if passed, _ := burst(t, g, 20, newSecret(), "10.0.0.1:1"); passed != 10 {
			t.Errorf("%d failures after a second, want 10", passed)
		}
		if n := len(log.String()); n > 30_000 {
			t.Errorf("the log has %d bytes after a handful of failures", n)
		}
	})
}

// TestLogOfStrangersIsBounded however many addresses they have.
func TestLogOfStrangersIsBounded(t *testing.T) {
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleReader}})
	synctest.Test(t, func(t *testing.T) {
		g, log := newGuard(t, Options{TokenFile: path})
		for i := range 3 * maxAddresses {
			burst(t, g, 1, "wrong", fmt.Sprintf("10.%d.%d.1:1", i/256, i%256))
		}
		if n := len(log.String()); n > 30_000 {
			t.Errorf("the log has %d bytes, want it bounded", n)
		}
		if n, m := len(g.failures.byAddress), g.failures.recent.Len(); n != maxAddresses || m != n {
			t.Errorf("%d and %d addresses are kept, want %d", n, m, maxAddresses)
		}
	})
}

// TestRefusalsAreCounted, also those that are not logged.
func TestRefusalsAreCounted(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: []Role{RoleReader}})
	synctest.Test(t, func(t *testing.T) {
		counted := map[string]int{}
		g, _ := newGuard(t, Options{TokenFile: path, Rate: 10, Burst: 5, Refused: func(status int, code leasehold.Reason) {
			counted[fmt.Sprint(status, " ", code)]++
		}})
		burst(t, g, 105, secret, "10.0.0.1:1")
		for i := range 200 {
			burst(t, g, 1, "wrong", fmt.Sprintf("10.1.%d.1:1", i))
		}
		if want := map[string]int{"429 rate_limited": 100, "401 unauthenticated": 200}; !maps.Equal(counted, want) {
			t.Errorf("counted %v, want %v", counted, want)
		}
	})
}

func TestQuietestAddressIsForgottenFirst(t *testing.T) {
	a := newFailures(failureLimit)
	addr := func(i int) string { return fmt.Sprintf("10.0.%d.%d:1", i/256, i%256) }
	first, second := a.limiter(addr(0)), a.limiter(addr(1))
	for i := 2; i < maxAddresses; i++ {
		a.limiter(addr(i))
	}
	a.limiter(addr(0))            // heard of again
	a.limiter(addr(maxAddresses)) // one too many
	if a.limiter(addr(0)) != first {
		t.Error("the address heard of last was forgotten")
	}
	if a.limiter(addr(1)) == second {
		t.Error("the address that was quiet for the longest was kept")
	}
}

func TestNetwork(t *testing.T) {
	for remote, want := range map[string]string{
		"10.0.0.1:80":                "10.0.0.1/32",
		"[::ffff:10.0.0.1]:80":       "10.0.0.1/32",
		"[2001:db8:1:2:3:4:5:6]:443": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:1":           "fe80::/64",
	} {
		if got := network(remote); got.String() != want {
			t.Errorf("network(%q) = %v, want %v", remote, got, want)
		}
	}
	for _, remote := range []string{"", "pipe", "@", "10.0.0.1", "localhost:80"} {
		if got := network(remote); got != (netip.Prefix{}) {
			t.Errorf("network(%q) = %v, want the shared one", remote, got)
		}
	}
}

// The further operations of a request count against the same rate.
func TestAllowOperation(t *testing.T) {
	if _, ok := AllowOperation(t.Context()); !ok {
		t.Error("AllowOperation of nobody = false, want true: there is no rate to keep")
	}
	ctx := withLimiter(t.Context(), limit{1, 3}.limiter())
	for range 3 {
		if _, ok := AllowOperation(ctx); !ok {
			t.Fatal("AllowOperation = false, want true within the burst")
		}
	}
	if wait, ok := AllowOperation(ctx); ok || wait <= 0 {
		t.Errorf("AllowOperation beyond the burst = %v, %v; want when to ask again", wait, ok)
	}
}
