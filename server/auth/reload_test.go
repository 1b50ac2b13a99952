package auth

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

var reader = []Role{RoleReader}

// notice is how long an edit of the file may take to count.
const notice = 2 * time.Second

func TestTokensComeAndGo(t *testing.T) {
	path := tokenPath(t)
	first := mustCreate(t, path, TokenSpec{Name: "first", Roles: reader})
	synctest.Test(t, func(t *testing.T) {
		g, log := newGuard(t, Options{TokenFile: path})
		second := mustCreate(t, path, TokenSpec{Name: "second", Roles: reader})
		wantCode(t, g, request("GET", "/", bearerHeader(second)), 401, "unauthenticated")
		time.Sleep(notice)
		wantCaller(t, g, request("GET", "/", bearerHeader(second)), "second")
		if err := RevokeToken(path, "first"); err != nil {
			t.Fatalf("RevokeToken() = %v", err)
		}
		time.Sleep(notice)
		wantCode(t, g, request("GET", "/", bearerHeader(first)), 401, "unauthenticated")
		wantCaller(t, g, request("GET", "/", bearerHeader(second)), "second")
		time.Sleep(time.Hour)
		if n := strings.Count(log.String(), "tokens loaded"); n != 3 {
			t.Errorf("the tokens were loaded %d times, want 3: only what differs counts\n%s", n, log)
		}
	})
}

// hold starts a request that lasts until its context ends, as event streams and
// waits do, and returns why it ended.
func hold(g *Guard, secret string) <-chan error {
	ended := make(chan error, 1)
	handler := g.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended <- context.Cause(r.Context())
	}))
	r := request("GET", "/v1/events", bearerHeader(secret))
	go handler.ServeHTTP(httptest.NewRecorder(), r)
	return ended
}

func wantEnd(t *testing.T, ended <-chan error, want error) {
	t.Helper()
	synctest.Wait()
	select {
	case err := <-ended:
		if !errors.Is(err, want) {
			t.Errorf("the request ended with %v, want %v", err, want)
		}
	default:
		if want != nil {
			t.Errorf("the request runs on, want it ended with %v", want)
		}
	}
}

func TestRunningRequestsEndWithTheirToken(t *testing.T) {
	path := tokenPath(t)
	secrets := map[string]string{}
	for _, name := range []string{"revoked", "changed", "expiring", "kept"} {
		spec := TokenSpec{Name: name, Roles: reader}
		secrets[name] = mustCreate(t, path, spec)
	}
	synctest.Test(t, func(t *testing.T) {
		edit := func(old, with string) {
			data, err := os.ReadFile(path)
			if err != nil || !strings.Contains(string(data), old) {
				t.Fatalf("%q is not in the file, %v", old, err)
			}
			writeFile(t, path, strings.Replace(string(data), old, with, 1))
		}
		// The bubble's clock is its own; so is this end of a token.
		expires := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
		edit(`"name":"expiring"`, `"name":"expiring","expires":"`+expires+`"`)
		g, _ := newGuard(t, Options{TokenFile: path})
		ended := map[string]<-chan error{}
		for name, secret := range secrets {
			ended[name] = hold(g, secret)
		}
		if err := RevokeToken(path, "revoked"); err != nil {
			t.Fatalf("RevokeToken() = %v", err)
		}
		edit(`{"name":"changed","roles":["reader"]`, `{"name":"changed","roles":["operator"]`)
		time.Sleep(notice)
		wantEnd(t, ended["revoked"], errRevoked)
		wantEnd(t, ended["changed"], errRevoked)
		wantEnd(t, ended["expiring"], nil)
		wantCaller(t, g, request("GET", "/", bearerHeader(secrets["changed"])), "changed")
		wantCaller(t, g, request("GET", "/", bearerHeader(secrets["expiring"])), "expiring")

		time.Sleep(time.Minute)
		wantEnd(t, ended["expiring"], errExpired)
		wantCode(t, g, request("GET", "/", bearerHeader(secrets["expiring"])), 401, "unauthenticated")
		wantEnd(t, ended["kept"], nil)
		if err := RevokeToken(path, "kept"); err != nil {
			t.Fatalf("RevokeToken() = %v", err)
		}
		if err := g.Reload(); err != nil {
			t.Fatalf("Reload() = %v", err)
		}
		wantEnd(t, ended["kept"], errRevoked)
	})
}

// TestYearOneIsOver: an end in the year 1 is one that has passed, not none.
func TestYearOneIsOver(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "old", Roles: reader})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, strings.Replace(string(data), `"name":"old"`, `"name":"old","expires":"0001-01-01T00:00:00Z"`, 1))
	g, _ := newGuard(t, Options{TokenFile: path})
	wantCode(t, g, request("GET", "/", bearerHeader(secret)), 401, "unauthenticated")
	tokens, err := ListTokens(path)
	if err != nil || len(tokens) != 1 || !tokens[0].Expired(time.Now()) {
		t.Errorf("ListTokens() = %+v, %v, want one token that has expired", tokens, err)
	}
}

// TestBrokenFileKeepsTokens whatever is wrong with it, and says so once.
func TestBrokenFileKeepsTokens(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"broken line": func(path string) error { return os.WriteFile(path, []byte("# fine\n{oops\n"), 0o600) },
		"missing":     os.Remove,
		"open to all": func(path string) error { return os.Chmod(path, 0o644) },
		"a directory": func(path string) error { return errors.Join(os.Remove(path), os.Mkdir(path, 0o700)) },
	} {
		t.Run(name, func(t *testing.T) {
			path := tokenPath(t)
			secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: reader})
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				g, log := newGuard(t, Options{TokenFile: path})
				if err := spoil(path); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute)
				wantCaller(t, g, request("GET", "/", bearerHeader(secret)), "ci")
				if n := strings.Count(log.String(), "level=ERROR"); n != 1 {
					t.Errorf("%d errors in the log, want 1:\n%s", n, log)
				}
				if err := g.Reload(); err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("Reload() = %v, want an error that names the file", err)
				}

				if err := os.RemoveAll(path); err != nil {
					t.Fatal(err)
				}
				other := newSecret()
				writeFile(t, path, string(good)+`{"name":"other","roles":["reader"],"hash":"`+hashText(hashOf(other))+`"}`)
				time.Sleep(notice)
				wantCaller(t, g, request("GET", "/", bearerHeader(secret)), "ci")
				wantCaller(t, g, request("GET", "/", bearerHeader(other)), "other")
			})
		})
	}
}

func TestEmptyFileLetsNobodyIn(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: reader})
	synctest.Test(t, func(t *testing.T) {
		g, log := newGuard(t, Options{TokenFile: path})
		writeFile(t, path, "")
		time.Sleep(notice)
		wantCode(t, g, request("GET", "/", bearerHeader(secret)), 401, "unauthenticated")
		if !strings.Contains(log.String(), "nobody is let in") {
			t.Errorf("the log says %q, want a warning", log)
		}
	})
}

// TestEditIsNoFreshAllowance: the limiter stays with the name.
func TestEditIsNoFreshAllowance(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: reader})
	synctest.Test(t, func(t *testing.T) {
		g, _ := newGuard(t, Options{TokenFile: path, Rate: 0.001, Burst: 3})
		burst(t, g, 3, secret, "10.0.0.1:1")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, path, strings.Replace(string(data), `"reader"`, `"operator"`, 1))
		time.Sleep(notice)
		if passed, _ := burst(t, g, 3, secret, "10.0.0.1:1"); passed != 0 {
			t.Errorf("%d passed after an edit of the token, want 0", passed)
		}
	})
}

// TestWatchedFile uses the real clock of the file system, which is what it is about.
func TestWatchedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	writeFile(t, path, "one")
	old := time.Now().Add(-time.Hour)
	age := func() {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	age()
	s := watchedFile{path: path}
	want := func(what string, want bool) {
		t.Helper()
		if got := s.changed(); got != want {
			t.Errorf("changed() %s = %v, want %v", what, got, want)
		}
	}
	want("at first", true)
	want("left alone", false)
	writeFile(t, path, "three")
	age()
	want("with another size", true)
	want("left alone", false)
	other := path + ".new"
	writeFile(t, other, "seven")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	age()
	want("replaced by another file of the same size and time", true)
	want("left alone", false)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	want("with another mode", true)
	want("left alone", false)
	writeFile(t, path, "eight")
	want("just written", true)
	want("so young that another write would look the same", true)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want("gone", true)
	want("still gone", true)
	writeFile(t, path, "eight")
	age()
	want("back", true)
	want("left alone", false)
}

func TestCloseWaits(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	path := tokenPath(t)
	mustCreate(t, path, TokenSpec{Name: "ci", Roles: reader})
	g, _ := newGuard(t, Options{TokenFile: path})
	g.Close()
	g.Close()
}

// TestRevokedInRealTime has a file old enough for its times to be trusted, which
// no file is in a bubble, where the clock stands at the year 2000.
func TestRevokedInRealTime(t *testing.T) {
	path := tokenPath(t)
	secret := mustCreate(t, path, TokenSpec{Name: "ci", Roles: reader})
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	g, _ := newGuard(t, Options{TokenFile: path})
	time.Sleep(poll + poll/2) // so that the file was looked at and found unchanged
	wantCaller(t, g, request("GET", "/", bearerHeader(secret)), "ci")
	if err := RevokeToken(path, "ci"); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	ended := hold(g, secret)
	if err := <-ended; !errors.Is(err, errRevoked) {
		t.Errorf("the running request ended with %v, want %v", err, errRevoked)
	}
	if took := time.Since(revoked); took > notice {
		t.Errorf("the token worked for another %v, want at most %v", took, notice)
	}
	wantCode(t, g, request("GET", "/", bearerHeader(secret)), 401, "unauthenticated")
}
