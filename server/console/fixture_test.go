package console

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/memory"
)

// site is a console on a store in memory.
type site struct {
	t      *testing.T
	store  leasehold.Store
	server *Server
	http   *httptest.Server
	cookie *http.Cookie
}

// start serves a store; nil is one in memory.
func start(t *testing.T, store leasehold.Store, tokens string) *site {
	t.Helper()
	if store == nil {
		m := memory.Open(nil)
		t.Cleanup(func() { m.Close() })
		store = m
	}
	guard, err := auth.New(&auth.Options{TokenFile: tokens, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(guard.Close)
	s := &site{t: t, store: store, server: New(store, Options{Guard: guard})}
	s.http = httptest.NewServer(s.server.Handler())
	t.Cleanup(func() { s.server.Drain(); s.http.Close(); s.server.Close() })
	return s
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// get loads a page, without following redirects.
func (s *site) get(path string, headers ...string) answer {
	s.t.Helper()
	return s.send(http.MethodGet, path, "", headers...)
}

// post sends a form from a page of this server.
func (s *site) post(path string, form url.Values, headers ...string) answer {
	s.t.Helper()
	return s.send(http.MethodPost, path, form.Encode(),
		append([]string{"Content-Type: application/x-www-form-urlencoded", "Origin: " + s.http.URL}, headers...)...)
}

func (s *site) send(method, path, body string, headers ...string) answer {
	s.t.Helper()
	r, err := http.NewRequest(method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	if s.cookie != nil {
		r.AddCookie(s.cookie)
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{a.StatusCode, a.Header, string(text)}
}

// shows checks the status of a page and that it has these parts.
func (s *site) shows(path string, status int, parts ...string) answer {
	s.t.Helper()
	a := s.get(path)
	if a.status != status {
		s.t.Errorf("GET %.100s = %d, want %d:\n%.600s", path, a.status, status, a.body)
	}
	for _, part := range parts {
		if !strings.Contains(a.body, part) {
			s.t.Errorf("GET %.100s lacks %q:\n%s", path, part, a.body)
		}
	}
	return a
}

var secretField = regexp.MustCompile(`name="secret" value="([0-9a-f]+)"`)

// secret is that of the forms.
func (s *site) secret() string {
	s.t.Helper()
	found := secretField.FindStringSubmatch(s.get("/console/settings").body)
	if found == nil {
		s.t.Fatal("the page of settings has no form")
	}
	return found[1]
}

func (s *site) acquire(r leasehold.AcquireRequest) leasehold.Grant {
	s.t.Helper()
	g, err := s.store.Acquire(s.t.Context(), r)
	if err != nil {
		s.t.Fatalf("Acquire(%+v) = %v", r, err)
	}
	return g
}

// queue waits in the background until the test ends.
func (s *site) queue(r leasehold.AcquireRequest) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	before := s.waiting()
	go func() {
		defer close(done)
		_, _ = s.store.(leasehold.Waiter).Wait(ctx, r)
	}()
	s.t.Cleanup(func() { cancel(); <-done })
	for deadline := time.Now().Add(30 * time.Second); s.waiting() == before && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond) // the store lives in real time
	}
}

func (s *site) waiting() int {
	list, err := s.store.(leasehold.WaitLister).Waits(s.t.Context(), 1)
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Total
}

// tokenFile makes a file with a token of each kind.
func tokenFile(t *testing.T) (file string, secrets map[string]string) {
	t.Helper()
	file, secrets = filepath.Join(t.TempDir(), "tokens"), map[string]string{}
	for name, roles := range map[string][]auth.Role{
		"reader": {auth.RoleReader}, "operator": {auth.RoleOperator}, "holder": {auth.RoleHolder},
	} {
		secret, err := auth.CreateToken(file, auth.TokenSpec{Name: name, Roles: roles})
		if err != nil {
			t.Fatal(err)
		}
		secrets[name] = secret
	}
	return file, secrets
}

// logIn keeps the cookie of a login.
func (s *site) logIn(secret string) answer {
	s.t.Helper()
	a := s.post("/console/login", url.Values{"token": {secret}, "next": {"/console/settings"}})
	for _, c := range (&http.Response{Header: a.header}).Cookies() {
		s.cookie = c
	}
	return a
}
