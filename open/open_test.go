package open_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/store/sqlite"
)

func TestStoreRefuses(t *testing.T) {
	const known = "want one of azblob://ACCOUNT/CONTAINER, cosmos://ACCOUNT/DATABASE/CONTAINER, etcd://HOST:PORT/PREFIX, etcds://HOST:PORT/PREFIX, http://HOST:PORT, https://HOST:PORT, " +
		"memory:, postgres://HOST:PORT/DATABASE, redis://HOST:PORT, rediss://HOST:PORT, sqlite:FILE, surreal://HOST:PORT/NAMESPACE/DATABASE, surreals://HOST:PORT/NAMESPACE/DATABASE"
	tests := []struct{ url, want string }{
		{"", "has no scheme; " + known},
		{"leases.db", "has no scheme; " + known},
		{"consul://localhost", `has the unknown scheme "consul"; ` + known},
		{"sqlite:", "names no file"},
		{"sqlite://host/x.db", "names a host"},
		{"sqlite:x%zz.db", "broken %XX"},
		{"sqlite:x.db?durability=maybe", `has the durability "maybe"; want full or normal`},
		{"sqlite:x.db?mode=rw", `has the mode "rw"; want shared or none`},
		{"sqlite:x.db?mode=", `has the parameter "mode" without a value`},
		{"sqlite:x.db?cache=shared", `unknown parameter "cache"; sqlite:FILE takes durability, mode`},
		{"sqlite:x.db?durability=full&durability=normal", "more than once"},
		{"sqlite:x.db?%zz", "parameters that cannot be read"},
		{"memory:x", "has no name"},
		{"memory:?a=b", "memory: takes none"},
		{"http://localhost?ca=x", `has the parameter "ca"; http://HOST:PORT takes none`},
		{"http://", "names no host"},
		{"http://user:hunter2@localhost", "carries a user or password"},
		{"https://localhost?ca=nowhere.pem", "has a ca that cannot be read"},
		{"https://localhost?ca=open_test.go", "without a certificate"},
		{"https://localhost?cert=x.pem", "needs both"},
		{"https://localhost?cert=x.pem&key=y.pem", "cannot be used"},
	}
	for _, tt := range tests {
		store, err := open.Store(t.Context(), tt.url, nil)
		if store != nil || !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Store(%q) = %v, %v, want ErrInvalid with %q", tt.url, store, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Store(%q) = %v, which repeats the password", tt.url, err)
		}
	}
}

func TestStoreOpensSQLite(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	odd := filepath.Join(dir, "50% odd?name.db")
	tests := []struct{ url, file string }{
		{"sqlite:relative.db", "relative.db"},
		{"sqlite:" + filepath.Join(dir, "absolute.db"), "absolute.db"},
		{"sqlite://" + filepath.ToSlash(filepath.Join(dir, "slashes.db")), "slashes.db"},
		{"sqlite:my%20file.db?durability=normal", "my file.db"},
		{"SQLITE:upper.db?durability=full", "upper.db"},
		{open.SQLiteURL(odd) + "?durability=normal", odd},
	}
	for _, tt := range tests {
		store := mustOpen(t, tt.url, nil)
		if _, err := store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"}); err != nil {
			t.Errorf("Acquire on %q = %v, want a grant", tt.url, err)
		}
		if err := store.Close(); err != nil {
			t.Errorf("Close of %q = %v", tt.url, err)
		}
		if _, err := os.Stat(tt.file); err != nil {
			t.Errorf("Store(%q) left no file: %v", tt.url, err)
		}
	}
}

// Two processes, or two stores, have one file in shared mode, and neither lets the
// other mode in.
func TestStoreOpensSharedSQLite(t *testing.T) {
	url := open.SQLiteURL(filepath.Join(t.TempDir(), "x.db"))
	a := mustOpen(t, url+"?mode=shared", nil)
	b := mustOpen(t, url+"?mode=shared&durability=normal", nil)
	if _, err := a.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a"}); err != nil {
		t.Fatalf("Acquire = %v", err)
	}
	if _, err := b.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b"}); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("Acquire of what another holds = %v, want ErrHeld", err)
	}
	if store, err := open.Store(t.Context(), url, nil); store != nil || !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("Store of a file that is shared = %v, %v, want ErrInUse", store, err)
	}
	a.Close()
	b.Close()
	alone := mustOpen(t, url, nil)
	defer alone.Close()
	if st, err := alone.Status(t.Context(), "r"); err != nil || st.Lease == nil || st.Lease.Holder != "a" {
		t.Errorf("Status in the other mode = %+v, %v; want the lease", st, err)
	}
	if store, err := open.Store(t.Context(), url+"?mode=shared", nil); store != nil || !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("Store of a file that is not shared = %v, %v, want ErrInUse", store, err)
	}
	store, err := open.Store(t.Context(), url+"?mode=shared", &open.Options{Modules: []engine.Module{{Name: "m"}}})
	if store != nil || !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Store of a shared file with a module = %v, %v, want ErrInvalid", store, err)
	}
	missing := open.SQLiteURL(filepath.Join(t.TempDir(), "typo.db")) + "?mode=shared"
	if store, err := open.Store(t.Context(), missing, &open.Options{MustExist: true}); store != nil || !errors.Is(err, sqlite.ErrMissing) {
		t.Errorf("Store of a file that is not there = %v, %v, want ErrMissing", store, err)
	}
}

func TestReachIsReported(t *testing.T) {
	url := open.SQLiteURL(filepath.Join(t.TempDir(), "x.db"))
	defer mustOpen(t, url, &open.Options{Reach: "http://127.0.0.1:4711"}).Close()
	store, err := open.Store(t.Context(), url, nil)
	if store != nil || !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), "http://127.0.0.1:4711") {
		t.Errorf("Store of a file in use = %v, %v, want ErrInUse with the address", store, err)
	}
}

func TestMustExist(t *testing.T) {
	file := filepath.Join(t.TempDir(), "typo.db")
	store, err := open.Store(t.Context(), open.SQLiteURL(file), &open.Options{MustExist: true})
	if store != nil || !errors.Is(err, sqlite.ErrMissing) {
		t.Errorf("Store of a file that is not there = %v, %v, want ErrMissing", store, err)
	}
	mustOpen(t, "memory:", &open.Options{MustExist: true}).Close()
}

func TestMemoryIsNewEachTime(t *testing.T) {
	for range 2 {
		store := mustOpen(t, "memory:", nil)
		if _, err := store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"}); err != nil {
			t.Errorf("Acquire = %v, want a grant from an empty store", err)
		}
		store.Close()
	}
}

// A server is not called before it is needed.
func TestServerIsNotCalledYet(t *testing.T) {
	for _, url := range []string{"http://127.0.0.1:1", "https://127.0.0.1:1/leases/"} {
		store := mustOpen(t, url, &open.Options{Token: "lh_secret"})
		if _, err := store.Status(t.Context(), "r"); !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Status at %s = %v, want ErrUnavailable", url, err)
		}
		store.Close()
	}
}

func TestScheme(t *testing.T) {
	for url, want := range map[string]string{"sqlite:x": "sqlite", "HTTP://x": "http", "x": "", "": "", ":": ""} {
		if got := open.Scheme(url); got != want {
			t.Errorf("Scheme(%q) = %q, want %q", url, got, want)
		}
	}
}

func mustOpen(t *testing.T, url string, o *open.Options) leasehold.Store {
	t.Helper()
	store, err := open.Store(context.Background(), url, o)
	if err != nil {
		t.Fatalf("Store(%q) = %v", url, err)
	}
	return store
}

func TestLacks(t *testing.T) {
	tests := []struct {
		url  string
		want int
	}{{"sqlite:x", 0}, {"sqlite:x?mode=shared", 1}, {"sqlite:x?mode=%zz", 0}, {"rediss://x", 1}, {"azblob://x/y", 2}, {"nonsense", 0}}
	for _, tt := range tests {
		if got := open.Lacks(tt.url, "watching", "finding", "waiting"); len(got) != tt.want {
			t.Errorf("Lacks(%q) = %q, want %d", tt.url, got, tt.want)
		}
	}
}

func TestShared(t *testing.T) {
	for url, want := range map[string]bool{
		"": false, "nonsense": false, "memory:": false, "sqlite:x": false, "sqlite:x?durability=full": false,
		"sqlite:x?durability=full&mode=shared": true, "redis://x": true, "http://x": true, "cosmos://x": true,
	} {
		if got := open.Shared(url); got != want {
			t.Errorf("Shared(%q) = %v, want %v", url, got, want)
		}
	}
}
