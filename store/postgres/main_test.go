package postgres

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(withServer{m}, testserver.Leaks()...)
}

// withServer ends the server that the tests share.
type withServer struct{ *testing.M }

func (m withServer) Run() int {
	code := m.M.Run()
	binary.end()
	return code
}

// shared is the server of all tests that do not break it.
var shared = struct {
	sync.Once
	server *testserver.Server
}{}

// server returns the shared server.
func server(t testing.TB) *testserver.Server {
	t.Helper()
	shared.Do(func() {
		defer func() {
			if r := recover(); r != nil && r != (skipped{}) {
				panic(r)
			}
		}()
		shared.server = testserver.Postgres(&binary)
	})
	if shared.server == nil {
		t.Skip(binary.skipped)
	}
	return shared.server
}

// binary is a testserver.T that lasts as long as the program.
var binary lifetime

type lifetime struct {
	cleanups []func()
	skipped  string
}

func (*lifetime) Helper()             {}
func (*lifetime) Logf(string, ...any) {}
func (l *lifetime) Cleanup(f func())  { l.cleanups = append(l.cleanups, f) }
func (l *lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "postgres-test-")
	if err != nil {
		panic(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Skipf panics to leave the test's set-up, as testing's own does.
func (l *lifetime) Skipf(format string, args ...any) {
	l.skipped = fmt.Sprintf(format, args...)
	panic(skipped{})
}

func (*lifetime) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

type skipped struct{}

func (l *lifetime) end() {
	for i := len(l.cleanups) - 1; i >= 0; i-- {
		l.cleanups[i]()
	}
}

var schemas atomic.Int64

// newSchema returns a name that no other test has.
func newSchema() string { return fmt.Sprintf("t%d", schemas.Add(1)) }

// newPool returns a pool on a server, which ends with the test.
func newPool(t testing.TB, addr string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(testserver.PostgresURL(addr, "postgres"))
	must(t, err)
	config.MaxConns = 40
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	must(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func openOn(t testing.TB, pool *pgxpool.Pool, o *Options) *Store {
	t.Helper()
	return storetest.Open(t, func() (*Store, error) { return New(t.Context(), pool, o) })
}

// open returns a store of its own on the shared server.
func openShared(t testing.TB) *Store {
	t.Helper()
	return openOn(t, newPool(t, server(t).Addr), &Options{Schema: newSchema()})
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
