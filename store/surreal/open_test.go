package surreal

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

const secret = "correct-horse-battery"

// wantUnavailable expects a clear error in time, without the secret.
func wantUnavailable(t *testing.T, what string, started time.Time, err error, mentions ...string) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || !errors.Is(err, leasehold.ErrUnavailable) || e.Store != "surreal" {
		t.Fatalf("%s = %v, want ErrUnavailable of the surreal store", what, err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("%s took %v, want an answer within 5s", what, took)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", err, *e), secret) {
		t.Errorf("%s gives the secret away", what)
	}
	for _, word := range append(mentions, "surreal") {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%s = %q, want it to mention %q", what, err, word)
		}
	}
	t.Logf("%s: %v", what, err)
}

// root executes a statement as the root user.
func root(t *testing.T, addr, text string) {
	t.Helper()
	_, err := surrealdb.Query[any](t.Context(), client(t, Options{Address: addr}), text, nil)
	must(t, err)
}

// client is a client of the server that is signed in as root.
func client(t *testing.T, o Options) *surrealdb.DB {
	t.Helper()
	o.Username, o.Password = "root", secret
	c := newConn(o.withPlace())
	db, err := surrealdb.FromConnection(t.Context(), c)
	must(t, err)
	t.Cleanup(c.close)
	return db
}

func TestOpen(t *testing.T) {
	server := testserver.Surreal(t, "--user", "root", "--pass", secret)
	s := openOn(t, server.Addr, Options{Username: "root", Password: secret, Namespace: "shop", Database: "orders"})
	acquire(t, s, "r", "h", time.Minute)
	db := client(t, Options{Address: server.Addr, Namespace: "shop", Database: "orders"})
	rows, err := surrealdb.Query[[]map[string]any](t.Context(), db, "SELECT resource, holder, expires_at, created_at FROM leases", nil)
	must(t, err)
	if got := (*rows)[0].Result; len(got) != 1 || got[0]["resource"] != "r" || got[0]["holder"] != "h" {
		t.Errorf("the table leases has %v, want the lease", got)
	}
}

// Users of a namespace and of a database can open it, too.
func TestLevels(t *testing.T) {
	server := testserver.Surreal(t, "--user", "root", "--pass", secret)
	root(t, server.Addr, fmt.Sprintf("DEFINE USER n ON NAMESPACE PASSWORD %q ROLES EDITOR; DEFINE USER d ON DATABASE PASSWORD %[1]q ROLES EDITOR", secret))
	for user, level := range map[string]Level{"n": LevelNamespace, "d": LevelDatabase} {
		s, err := Open(t.Context(), &Options{Address: server.Addr, Username: user, Password: secret, Level: level})
		if err != nil {
			t.Fatalf("Open as %s = %v, want a store", user, err)
		}
		acquire(t, s, user, "h", time.Minute)
		must(t, s.Close())
	}
}

func TestOpenRefused(t *testing.T) {
	server := testserver.Surreal(t, "--user", "root", "--pass", secret)
	root(t, server.Addr, fmt.Sprintf("DEFINE USER reader ON ROOT PASSWORD %q ROLES VIEWER", secret))
	certificate, stranger := testserver.NewCertificate(t), testserver.NewCertificate(t)
	secured := testserver.TLS(t, server.Addr, certificate)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, nobody.Close())
	for what, try := range map[string]struct {
		o        Options
		mentions []string
	}{
		"wrong password":          {Options{Address: server.Addr, Username: "root", Password: secret + "x"}, []string{"sign in"}},
		"unknown user":            {Options{Address: server.Addr, Username: "who", Password: secret}, []string{"sign in"}},
		"nobody":                  {Options{Address: server.Addr}, []string{"ermission"}},
		"a user that may read":    {Options{Address: server.Addr, Username: "reader", Password: secret}, []string{"may not write"}},
		"unreachable":             {Options{Address: nobody.Addr().String(), Username: "root", Password: secret}, []string{"refused"}},
		"silent":                  {Options{Address: testserver.Silent(t), Username: "root", Password: secret}, []string{"no connection"}},
		"TLS where there is none": {Options{Address: server.Addr, Username: "root", Password: secret, TLS: certificate.Client()}, []string{"tls"}},
		"silent with TLS":         {Options{Address: testserver.Silent(t), Username: "root", Password: secret, TLS: certificate.Client()}, []string{"TLS"}},
		"unknown authority":       {Options{Address: secured, Username: "root", Password: secret, TLS: stranger.Client()}, []string{"certificate"}},
		"plain where TLS is":      {Options{Address: secured, Username: "root", Password: secret}, []string{"no connection"}},
		"no tables":               {Options{Address: server.Addr, Username: "root", Password: secret, Database: "empty", MustExist: true}, []string{"no leases"}},
		"no host":                 {Options{Address: "nowhere.invalid:1", Username: "root", Password: secret}, []string{"no connection"}},
	} {
		t.Run(what, func(t *testing.T) {
			started := time.Now()
			s, err := Open(t.Context(), &try.o)
			if err == nil {
				_ = s.Close()
			}
			wantUnavailable(t, "Open", started, err, try.mentions...)
		})
	}
	s := openOn(t, secured, Options{Username: "root", Password: secret, TLS: certificate.Client(), Database: "tls"})
	acquire(t, s, "r", "h", time.Minute)
	again := openOn(t, secured, Options{Username: "root", Password: secret, TLS: certificate.Client(), Database: "tls", MustExist: true})
	if status, err := again.Status(t.Context(), "r"); err != nil || !status.Locked() {
		t.Errorf("Status = %+v, %v; want the lease", status, err)
	}
}

func TestInvalidOptions(t *testing.T) {
	for what, o := range map[string]Options{
		"a level that is none": {Level: "galaxy"},
		"a password of nobody": {Password: secret},
		"a timeout below zero": {Timeout: -1},
	} {
		if _, err := Open(t.Context(), &o); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("Open with %s = %v, want ErrInvalid", what, err)
		}
	}
	db := &surrealdb.DB{}
	for what, try := range map[string]struct {
		db *surrealdb.DB
		o  *Options
	}{
		"no client":            {nil, nil},
		"an address":           {db, &Options{Address: "127.0.0.1:1"}},
		"TLS":                  {db, &Options{TLS: &tls.Config{}}},
		"a timeout below zero": {db, &Options{Timeout: -1}},
	} {
		if _, err := New(t.Context(), try.db, try.o); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("New with %s = %v, want ErrInvalid", what, err)
		}
	}
}

// A client handed in stays open, and its live query ends with the store.
func TestCloseLeavesTheClient(t *testing.T) {
	server := testserver.Surreal(t)
	ctx := t.Context()
	db, err := surrealdb.FromEndpointURLString(ctx, "ws://"+server.Addr)
	must(t, err)
	defer func() { must(t, db.Close(context.Background())) }()
	must(t, db.Use(ctx, "n", "d"))
	s, err := New(ctx, db, nil)
	must(t, err)
	handOver(t, openOn(t, server.Addr, Options{Namespace: "n", Database: "d"}), s)
	must(t, s.Close())
	must(t, s.Close())
	if _, err := db.Version(ctx); err != nil {
		t.Errorf("Version after Close = %v, want the client open", err)
	}
	if _, err := s.Find(ctx, leasehold.NewID()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Find after Close = %v, want ErrUnavailable", err)
	}
}

// Many programs may open a new database at the same time.
func TestRacingOpeners(t *testing.T) {
	server := testserver.Surreal(t)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			s, err := Open(t.Context(), &Options{Address: server.Addr})
			if err != nil {
				t.Errorf("Open = %v, want a store", err)
				return
			}
			defer s.Close()
			acquire(t, s, fmt.Sprint("r", i), "h", time.Minute)
		})
	}
	all.Wait()
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"3.0.2": "", "2.4.0": "type::thing", "3.1.0-beta": ""} {
		b := &backend{}
		if err := b.supports(version); err != nil || b.thing != want {
			t.Errorf("version %s: %v, %q; want %q", version, err, b.thing, want)
		}
	}
	for _, version := range []string{"1.5.4", "", "banana"} {
		if err := (&backend{}).supports(version); err == nil {
			t.Errorf("version %q is supported, want an error", version)
		}
	}
}

func acquire(t testing.TB, s leasehold.Store, resource, holder string, ttl time.Duration) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: ttl})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want a grant", resource, err)
	}
	return g
}

// handOver lets leases change hands between two stores on the same database.
func handOver(t *testing.T, holding, waiting *Store) {
	t.Helper()
	storetest.HandOver{Holding: holding, Waiting: waiting, Noted: func(resource string) bool { return waiting.Waiting(resource) == 1 }}.Check(t, 5)
}

func TestWakesOthers(t *testing.T) {
	server := testserver.Surreal(t)
	handOver(t, openOn(t, server.Addr, Options{Database: "wakes"}), openOn(t, server.Addr, Options{Database: "wakes"}))
}
