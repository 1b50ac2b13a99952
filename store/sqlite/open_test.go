package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// newStore opens a store, which is closed at the end of the test.
func newStore(t testing.TB, path string, opts *Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), path, opts)
	if err != nil {
		t.Fatalf("Open(%q) = %v", path, err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustAcquire(t testing.TB, s leasehold.Store, resource string) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(context.Background(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v", resource, err)
	}
	return g
}

// untouched runs f and checks that the file is the same, byte by byte, and that
// no log was left beside it.
func untouched(t *testing.T, path string, f func()) {
	t.Helper()
	before, errBefore := os.ReadFile(path)
	f()
	after, errAfter := os.ReadFile(path)
	if !bytes.Equal(before, after) || (errBefore == nil) != (errAfter == nil) {
		t.Errorf("%s changed: %d bytes (%v) before, %d bytes (%v) after", path, len(before), errBefore, len(after), errAfter)
	}
	for _, companion := range []string{"-wal", "-shm", "-journal"} {
		if _, err := os.Stat(path + companion); err == nil {
			t.Errorf("%s%s was left behind", path, companion)
		}
	}
}

// edit changes a database with SQL, past the store.
func edit(t testing.TB, path, sql string) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := sqlitex.ExecuteScript(conn, sql, nil); err != nil {
		t.Fatal(err)
	}
}

// corrupt overwrites the file from one fraction of it to another with noise.
func corrupt(t testing.TB, path string, from, to float64) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n := float64(len(data))
	for i := int(n * from); i < int(n*to); i++ {
		data[i] = byte(i*7 + i>>8)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOpenRefuses: bad input gives a clear, typed error and changes nothing.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, path string)
		opts *Options
		what error
		says []string
	}{
		"text": {
			make: func(t *testing.T, path string) { write(t, path, strings.Repeat("Dear diary, ", 50)) },
			what: ErrForeign, says: []string{"is no SQLite database", "name another file"},
		},
		"a few bytes": {
			make: func(t *testing.T, path string) { write(t, path, "SQLite format 3\x00") },
			what: ErrForeign, says: []string{"is no SQLite database"},
		},
		"another program's": {
			make: func(t *testing.T, path string) {
				edit(t, path, "CREATE TABLE recipes (name); INSERT INTO recipes VALUES ('soup')")
			},
			what: ErrForeign, says: []string{"database of another program", "name another file"},
		},
		"another program's, marked": {
			make: func(t *testing.T, path string) { edit(t, path, "PRAGMA application_id = 7") },
			what: ErrForeign, says: []string{"database of another program"},
		},
		"newer": {
			make: func(t *testing.T, path string) {
				newStore(t, path, nil).Close()
				edit(t, path, "PRAGMA user_version = 99")
			},
			what: ErrNewer, says: []string{"version 99", fmt.Sprintf("knows only version %d", len(dbfile.EngineSchema.Migrations)), "use the newer program"},
		},
		"newer module": {
			make: func(t *testing.T, path string) {
				newStore(t, path, &Options{Modules: []engine.Module{toys}}).Close()
			},
			opts: &Options{Modules: []engine.Module{{Name: "toy"}}},
			what: ErrNewer, says: []string{"module toy", "version 1", "knows only version 0"},
		},
		"another module": {
			make: func(t *testing.T, path string) {
				newStore(t, path, &Options{Modules: []engine.Module{toys}}).Close()
			},
			opts: &Options{Modules: []engine.Module{{Name: "toy", Migrations: []engine.Migration{{Name: "other"}}}}},
			what: ErrForeign, says: []string{`"rows"`, `"other"`},
		},
		"damaged": {
			make: func(t *testing.T, path string) { fillStore(t, path, 500); corrupt(t, path, 0.3, 0.6) },
			what: ErrDamaged, says: []string{"is damaged", "restore the last backup"},
		},
		"damaged schema": {
			make: func(t *testing.T, path string) {
				newStore(t, path, nil).Close()
				data, _ := os.ReadFile(path)
				write(t, path, string(data[:100])+strings.Repeat("?", 3996)+string(data[4096:]))
			},
			what: ErrDamaged, says: []string{"is damaged"},
		},
		"damaged, large": {
			make: func(t *testing.T, path string) {
				size := dbfile.CheckedSize
				t.Cleanup(func() { dbfile.CheckedSize = size })
				dbfile.CheckedSize = 1 // so the file is not checked whole, and the load has to find it
				fillStore(t, path, 500)
				corrupt(t, path, 0.5, 0.6)
			},
			what: ErrDamaged, says: []string{"is damaged", "restore the last backup"},
		},
		"a lease without a state": {
			make: func(t *testing.T, path string) { fillStore(t, path, 1); edit(t, path, "UPDATE leases SET state = 17") },
			what: ErrDamaged, says: []string{"r0", "state"},
		},
		"a lease without an id": {
			make: func(t *testing.T, path string) { fillStore(t, path, 1); edit(t, path, "UPDATE leases SET id = x'00'") },
			what: ErrDamaged, says: []string{"r0", "id"},
		},
		"a lease with odd metadata": {
			make: func(t *testing.T, path string) {
				fillStore(t, path, 1)
				edit(t, path, "UPDATE leases SET metadata = '[1]'")
			},
			what: ErrDamaged, says: []string{"malformed"},
		},
		"a lease with odd claims": {
			make: func(t *testing.T, path string) {
				fillStore(t, path, 1)
				edit(t, path, `UPDATE leases SET claims = '[{"pattern": "a", "mode": "sometimes"}]'`)
			},
			what: ErrDamaged, says: []string{"claims", "r0", "malformed", "sometimes"},
		},
		"a lease with half of its claims": {
			make: func(t *testing.T, path string) {
				fillStore(t, path, 1)
				edit(t, path, `UPDATE leases SET claims = '[{"pattern": "a", "mode"'`)
			},
			what: ErrDamaged, says: []string{"claims", "r0", "malformed"},
		},
		"a lease with no claim in its claims": {
			make: func(t *testing.T, path string) {
				fillStore(t, path, 1)
				edit(t, path, "UPDATE leases SET claims = '[]'")
			},
			what: ErrDamaged, says: []string{"claims", "r0", "malformed"},
		},
		"a lease with odd notes": {
			make: func(t *testing.T, path string) {
				fillStore(t, path, 1)
				edit(t, path, "UPDATE leases SET notes = '{}'")
			},
			what: ErrDamaged, says: []string{"notes", "r0", "malformed"},
		},
		"no counters": {
			make: func(t *testing.T, path string) { fillStore(t, path, 1); edit(t, path, "DELETE FROM lease_counters") },
			what: ErrDamaged, says: []string{"counters are missing"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases.db")
			c.make(t, path)
			untouched(t, path, func() {
				s, err := Open(t.Context(), path, c.opts)
				if err == nil {
					s.Close()
				}
				if !errors.Is(err, c.what) || !errors.Is(err, leasehold.ErrUnavailable) {
					t.Fatalf("Open() = %v, want %v", err, c.what)
				}
				for _, want := range append(c.says, path) {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("Open() = %q, want it to say %q", err, want)
					}
				}
			})
		})
	}
}

// fillStore makes a store with n leases.
func fillStore(t testing.TB, path string, n int) {
	t.Helper()
	j := openAt(t, path, Options{Durability: DurabilityNormal})
	mustCommit(t, j, batchOf(n))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenBadArguments(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "leases.db")
	for name, c := range map[string]struct {
		path string
		opts *Options
		says string
	}{
		"no path":         {"", nil, "path is empty"},
		"directory":       {dir, nil, "is no file but a directory"},
		"device":          {os.DevNull, nil, "is no file but a device"},
		"no directory":    {filepath.Join(dir, "sub", "leases.db"), nil, "make it first"},
		"durability":      {file, &Options{Durability: 9}, "want DurabilityFull or DurabilityNormal"},
		"module name":     {file, &Options{Modules: []engine.Module{{Name: "a_b"}}}, "no name for a module"},
		"module reserved": {file, &Options{Modules: []engine.Module{{Name: "lease"}}}, "is reserved"},
		"module twice":    {file, &Options{Modules: []engine.Module{toys, toys}}, "given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(t.Context(), c.path, c.opts)
			if !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open(%q) = %v, want ErrInvalid that says %q", c.path, err, c.says)
			}
		})
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("Open() with bad arguments left %v", left)
	}
}

// TestMustExist: MustExist makes no file, and opens an existing one.
func TestMustExist(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "leases.db"), filepath.Join(dir, "sub", "leases.db")} {
		_, err := Open(t.Context(), path, &Options{MustExist: true})
		if !errors.Is(err, ErrMissing) || !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), path) {
			t.Errorf("Open(%q) = %v, want ErrMissing", path, err)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("Open() of what must exist left %v", left)
	}
	path := filepath.Join(dir, "leases.db")
	newStore(t, path, nil).Close()
	newStore(t, path, &Options{MustExist: true})
}

// TestForeignLogIsLeftAlone: even the log of another program's database is not
// checkpointed.
func TestForeignLogIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recipes.db")
	conn, err := sqlite.OpenConn(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := sqlitex.ExecuteScript(conn, "CREATE TABLE recipes (name)", nil); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "recipes.db") // as if its program had been killed
	for _, name := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + name)
		if err != nil || len(data) == 0 {
			t.Fatalf("%s: %d bytes, %v", path+name, len(data), err)
		}
		write(t, copied+name, string(data))
	}
	conn.Close()
	for _, name := range []string{"", "-wal"} {
		before, _ := os.ReadFile(copied + name)
		if _, err := Open(t.Context(), copied, nil); !errors.Is(err, ErrForeign) {
			t.Errorf("Open() = %v, want ErrForeign", err)
		}
		if after, _ := os.ReadFile(copied + name); !bytes.Equal(before, after) {
			t.Errorf("Open() changed %s", copied+name)
		}
	}
}

func TestFilesAreSecret(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, filepath.Join(dir, "leases.db"), nil)
	mustAcquire(t, s, "r")
	if err := s.Backup(t.Context(), filepath.Join(dir, "backup.db")); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name())
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v, want -rw-------", e.Name(), info.Mode())
		}
	}
	if want := "[backup.db leases.db leases.db-shm leases.db-wal leases.db.lock]"; fmt.Sprint(names) != want {
		t.Errorf("files are %v, want %s", names, want)
	}
}

// TestOddPaths: names that are special to SQLite are plain names.
func TestOddPaths(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{":memory:", "file:x?mode=memory", "a b'c\"%", "ünïcode"} {
		s := newStore(t, path, nil)
		mustAcquire(t, s, "r")
		if err := s.Close(); err != nil {
			t.Errorf("Close(%q) = %v", path, err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() == 0 {
			t.Errorf("Stat(%q) = %v, want a file with content", path, err)
		}
	}
}

// TestOpenCancelled: an ended context opens nothing and keeps nothing.
func TestOpenCancelled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Open(ended context) = %v, want ErrUnavailable and context.Canceled", err)
	}
	newStore(t, path, nil) // the lock is free
}

// TestReopen: leases, ids, settings and tokens are there again, and time has
// stood still.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, &Options{Durability: DurabilityNormal})
	g := mustAcquire(t, s, "r")
	if _, err := s.SetSetting(t.Context(), leasehold.SettingDefaultTTL, 77); err != nil {
		t.Fatalf("SetSetting() = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	s = newStore(t, path, nil)
	l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
	if err != nil || l.Token != g.Token || l.Renewals != 1 {
		t.Errorf("Renew() = token %d, %d renewals, %v, want token %d and 1", l.Token, l.Renewals, err, g.Token)
	}
	settings, err := s.Settings(t.Context())
	if err != nil {
		t.Fatalf("Settings() = %v", err)
	}
	for _, set := range settings {
		if set.Key == leasehold.SettingDefaultTTL && set.Value != int64(77) {
			t.Errorf("%s = %v, want 77", set.Key, set.Value)
		}
	}
	if next := mustAcquire(t, s, "other"); next.Token <= g.Token {
		t.Errorf("Acquire() after reopening = token %d, want more than %d", next.Token, g.Token)
	}
}
