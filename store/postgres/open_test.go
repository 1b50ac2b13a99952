package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
)

const secret = "correct-horse-battery"

// query runs SQL as the superuser.
func query(t testing.TB, addr, sql string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), testserver.PostgresURL(addr, "postgres"))
	must(t, err)
	defer conn.Close(context.Background())
	_, err = conn.Exec(t.Context(), sql)
	must(t, err)
}

// urlOf is a URL for another user, whose password is the secret.
func urlOf(addr, user, rest string) string {
	return "postgres://" + user + ":" + secret + "@" + addr + "/postgres" + rest
}

// refused expects a clear error in time, without the secret.
func refused(t *testing.T, started time.Time, err error, mentions ...string) {
	t.Helper()
	var e *leasehold.Error
	if !errors.As(err, &e) || !errors.Is(err, leasehold.ErrUnavailable) || e.Store != kind || e.Op != "open" {
		t.Fatalf("Open = %v, want ErrUnavailable of the postgres store", err)
	}
	if took := time.Since(started); took > 5*time.Second {
		t.Errorf("Open took %v, want an answer within 5s", took)
	}
	if text := fmt.Sprintf("%v %+v", err, *e); strings.Contains(text, secret) {
		t.Errorf("the error gives the secret away")
	}
	for _, word := range mentions {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Open = %q, want it to mention %q", err, word)
		}
	}
	t.Log(err)
}

func TestOpenRefused(t *testing.T) {
	addr := server(t).Addr
	schema := newSchema()
	openOn(t, newPool(t, addr), &Options{Schema: schema})
	for _, user := range []string{"reader", "nothing", "careless", "frozen"} {
		query(t, addr, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s'", user, secret))
	}
	query(t, addr, fmt.Sprintf(`GRANT USAGE ON SCHEMA %[1]s TO reader, careless, frozen;
		GRANT SELECT ON ALL TABLES IN SCHEMA %[1]s TO reader; GRANT SELECT ON ALL SEQUENCES IN SCHEMA %[1]s TO reader;
		ALTER ROLE careless SET synchronous_commit = off; ALTER ROLE frozen SET default_transaction_read_only = on`, schema))
	query(t, addr, "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
	certificate := testserver.NewCertificate(t)
	secured := testserver.PostgresTLS(t, certificate)
	query(t, secured.Addr, fmt.Sprintf("CREATE ROLE u LOGIN PASSWORD '%s'", secret))
	stranger := testserver.NewCertificate(t)
	for what, try := range map[string]struct {
		url      string
		mentions []string
	}{
		"wrong password":      {urlOf(addr, "postgres", "?sslmode=disable"), []string{"refuses the user name or the password"}},
		"no such user":        {urlOf(addr, "nobody", "?sslmode=disable"), []string{"refuses the user name or the password"}},
		"no such database":    {strings.Replace(urlOf(addr, "reader", "?sslmode=disable"), "/postgres?", "/missing?", 1), []string{"no such database"}},
		"read-only user":      {urlOf(addr, "reader", "?sslmode=disable"), []string{"no right to", "INSERT on leases"}},
		"no rights at all":    {urlOf(addr, "nothing", "?sslmode=disable"), []string{"may not do this"}},
		"asynchronous commit": {urlOf(addr, "careless", "?sslmode=disable"), []string{"synchronous_commit"}},
		"read-only by role":   {urlOf(addr, "frozen", "?sslmode=disable"), []string{"read-only"}},
		"another encoding":    {strings.Replace(urlOf(addr, "reader", "?sslmode=disable"), "/postgres?", "/latin?", 1), []string{"UTF8"}},
		"nobody listens":      {urlOf("127.0.0.1:1", "u", "?sslmode=disable"), []string{"refused"}},
		"nobody answers":      {urlOf(testserver.Silent(t), "u", "?sslmode=disable"), nil},
		"no such host":        {urlOf("no-such-host.invalid:5432", "u", "?sslmode=disable"), nil},
		"TLS to a plain one":  {urlOf(addr, "reader", "?sslmode=require"), []string{"TLS"}},
		"another authority":   {urlOf(secured.Addr, "u", "?sslmode=verify-full&sslrootcert="+stranger.CertFile), []string{"certificate"}},
	} {
		t.Run(what, func(t *testing.T) {
			started := time.Now()
			s, err := Open(t.Context(), &Options{URL: try.url, Schema: schema})
			if err == nil {
				s.Close()
				t.Fatal("Open = a store, want an error")
			}
			refused(t, started, err, try.mentions...)
		})
	}
	s, err := Open(t.Context(), &Options{
		URL: strings.Replace(testserver.PostgresURL(secured.Addr, "postgres"), "disable", "verify-full&sslrootcert="+certificate.CertFile, 1),
	})
	if err != nil {
		t.Fatalf("Open with TLS = %v, want a store", err)
	}
	must(t, s.Close())
}

func TestOptionsRefused(t *testing.T) {
	pool, err := pgxpool.New(t.Context(), "postgres://127.0.0.1:1/x")
	must(t, err)
	defer pool.Close()
	for what, err := range map[string]error{
		"no URL":             openError(t, &Options{}),
		"a bad URL":          openError(t, &Options{URL: "postgres://u:" + secret + "@host:port/x"}),
		"a bad schema":       openError(t, &Options{URL: "postgres://127.0.0.1:1/x", Schema: `x"; DROP`}),
		"a negative timeout": openError(t, &Options{URL: "postgres://127.0.0.1:1/x", Timeout: -1}),
		"New with a URL":     newError(t, pool, &Options{URL: "postgres://127.0.0.1:1/x"}),
	} {
		if !errors.Is(err, leasehold.ErrInvalid) || strings.Contains(fmt.Sprint(err), secret) {
			t.Errorf("%s = %v, want ErrInvalid without the secret", what, err)
		}
	}
}

func openError(t *testing.T, o *Options) error {
	_, err := Open(t.Context(), o)
	return err
}

func newError(t *testing.T, pool *pgxpool.Pool, o *Options) error {
	_, err := New(t.Context(), pool, o)
	return err
}

// A user who may not make tables uses those that are there.
func TestOrdinaryUser(t *testing.T) {
	addr, schema := server(t).Addr, newSchema()
	openOn(t, newPool(t, addr), &Options{Schema: schema})
	query(t, addr, fmt.Sprintf(`CREATE ROLE app LOGIN PASSWORD '%[2]s'; GRANT USAGE ON SCHEMA %[1]s TO app;
		GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %[1]s TO app;
		GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA %[1]s TO app`, schema, secret))
	s, err := Open(t.Context(), &Options{URL: urlOf(addr, "app", "?sslmode=disable"), Schema: schema})
	if err != nil {
		t.Fatalf("Open = %v, want a store", err)
	}
	defer s.Close()
	g := acquire(t, s, "r", "h", time.Minute)
	release(t, s, g.Lease)
	if _, err := s.ReleaseHolder(t.Context(), "h", ""); err != nil {
		t.Errorf("ReleaseHolder = %v", err)
	}
	if _, err := s.SetSetting(t.Context(), leasehold.SettingMaxLeases, 3); err != nil {
		t.Errorf("SetSetting = %v", err)
	}
	if _, err := s.Cleanup(t.Context()); err != nil {
		t.Errorf("Cleanup = %v", err)
	}
}

// A schema of a newer program is left alone.
func TestNewerSchema(t *testing.T) {
	addr, schema := server(t).Addr, newSchema()
	openOn(t, newPool(t, addr), &Options{Schema: schema})
	query(t, addr, "INSERT INTO "+schema+".migrations (version, name) VALUES (999, 'later')")
	started := time.Now()
	_, err := New(t.Context(), newPool(t, addr), &Options{Schema: schema})
	refused(t, started, err, "999", "newer program")
}

// A command that only looks makes nothing.
func TestMustExist(t *testing.T) {
	schema := newSchema()
	pool := newPool(t, server(t).Addr)
	started := time.Now()
	_, err := New(t.Context(), pool, &Options{Schema: schema, MustExist: true})
	refused(t, started, err, "no leases in the schema "+schema)
	openOn(t, pool, &Options{Schema: schema})
	openOn(t, pool, &Options{Schema: schema, MustExist: true})
}

// Servers that start together make the tables once.
func TestServersStartTogether(t *testing.T) {
	addr, schema := server(t).Addr, newSchema()
	pool := newPool(t, addr)
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			s, err := New(t.Context(), pool, &Options{Schema: schema})
			if err != nil {
				t.Errorf("New = %v, want a store", err)
				return
			}
			defer s.Close()
			_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: fmt.Sprint("r", i), Holder: "h", TTL: time.Minute})
			if err != nil {
				t.Errorf("Acquire = %v, want a grant", err)
			}
		})
	}
	all.Wait()
}

// A pool handed in stays open, and after Close every call is ErrUnavailable.
func TestCloseLeavesThePool(t *testing.T) {
	pool := newPool(t, server(t).Addr)
	s := openOn(t, pool, &Options{Schema: newSchema()})
	acquire(t, s, "r", "h", time.Minute)
	must(t, s.Close())
	must(t, s.Close())
	must(t, pool.Ping(t.Context()))
	if _, err := s.Find(t.Context(), leasehold.NewID()); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Find after Close = %v, want ErrUnavailable", err)
	}
}

// A pooler shows, and then nothing is prepared by name.
func TestPoolerIsSeen(t *testing.T) {
	direct := openShared(t)
	if direct.db.mode != pgx.QueryExecModeCacheStatement || direct.db.listen == nil {
		t.Errorf("without a pooler: mode %v, listening %t; want prepared statements and LISTEN", direct.db.mode, direct.db.listen != nil)
	}
	behind := openOn(t, newPool(t, testserver.PgBouncer(t, server(t)).Addr), &Options{Schema: newSchema()})
	if behind.db.mode != pgx.QueryExecModeExec || behind.db.listen != nil {
		t.Errorf("behind a pooler: mode %v, listening %t; want neither", behind.db.mode, behind.db.listen != nil)
	}
}
