package shared

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testchild"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	sqlitedb "zombiezen.com/go/sqlite"
)

func acquire(t testing.TB, s leasehold.Store, resource string) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour})
	if err != nil {
		t.Fatalf("Acquire(%q) = %v", resource, err)
	}
	return g
}

// edit changes the file behind the stores' backs.
func edit(t testing.TB, path, sql string) {
	t.Helper()
	conn, err := dbfile.Connect(path, sqlitedb.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := dbfile.Run(conn, sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// TestManyOpenAtOnce: several processes start at once on a file that is not there,
// and one of them makes it.
func TestManyOpenAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if out, err := testchild.Command(t.Context(), "open", path).Output(); err != nil || string(out) != "opened\n" {
				t.Errorf("one of many that opened at once was told %q, %v", out, err)
			}
		})
	}
	all.Wait()
}

// TestOpenRefuses says what is wrong with the file, and leaves it alone.
func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		what  error
		says  string
	}{
		"foreign": {func(t *testing.T, path string) { os.WriteFile(path, bytes.Repeat([]byte("x"), 5000), 0o600) }, sqlite.ErrForeign, "no SQLite database"},
		"newer":   {func(t *testing.T, path string) { edit(t, path, "PRAGMA user_version = 99") }, sqlite.ErrNewer, "newer program"},
		"corrupt": {func(t *testing.T, path string) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(text); i++ {
				text[i] ^= 0x55
			}
			os.WriteFile(path, text, 0o600)
		}, sqlite.ErrDamaged, "restore the last backup"},
		"without counters": {func(t *testing.T, path string) { edit(t, path, "DELETE FROM lease_counters") }, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases.db")
			newStore(t, path, nil).Close()
			c.spoil(t, path)
			s, err := Open(t.Context(), path, nil)
			if c.what == nil { // found by the first call
				defer s.Close()
				_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"})
				c.what, c.says = sqlite.ErrDamaged, "counters are missing"
			}
			if !errors.Is(err, c.what) || leasehold.ReasonOf(err) != leasehold.ReasonUnavailable || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Open() = %v, want %v that says %q", err, c.what, c.says)
			}
		})
	}
}

func TestOpenOptions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	if _, err := Open(t.Context(), path, &Options{MustExist: true}); !errors.Is(err, sqlite.ErrMissing) {
		t.Errorf("Open() of no file = %v, want ErrMissing", err)
	}
	if _, err := Open(t.Context(), path, &Options{Durability: 9}); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Open() with a durability that is none = %v, want ErrInvalid", err)
	}
	if _, err := Open(t.Context(), "", nil); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Open() of no name = %v, want ErrInvalid", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, path, nil); err == nil {
		t.Error("Open() with a context that has ended succeeded")
	}
}

// TestOtherClock: processes that cannot compare their clocks cannot share a file, or
// time would stand still whenever they take turns.
func TestOtherClock(t *testing.T) {
	defer func() { bootClock = local.BootClock }()
	path := filepath.Join(t.TempDir(), "leases.db")
	first := newStore(t, path, nil)
	bootClock = func() string { return "another boot time:[1]" }
	_, err := Open(t.Context(), path, nil)
	if !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), "boot clock") || !strings.Contains(err.Error(), "time namespace") {
		t.Errorf("Open() with another boot clock = %v, want ErrInUse", err)
	}
	acquire(t, first, "r")
	first.Close()
	newStore(t, path, nil).Close() // what the first has left in the lock file blocks nobody
	bootClock = func() string { return "" }
	_, err = Open(t.Context(), path, nil)
	if leasehold.ReasonOf(err) != leasehold.ReasonUnavailable || !strings.Contains(err.Error(), "leasehold serve") {
		t.Errorf("Open() without a boot clock = %v, want unavailable", err)
	}
}

// TestJoinsOlderProgram: the schema cannot be changed while others use it.
func TestJoinsOlderProgram(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	newStore(t, path, nil)
	edit(t, path, "PRAGMA user_version = 4")
	if _, err := Open(t.Context(), path, nil); !errors.Is(err, sqlite.ErrInUse) || !strings.Contains(err.Error(), "older program") {
		t.Errorf("Open() beside an older program = %v, want ErrInUse", err)
	}
	edit(t, path, "PRAGMA user_version = 99")
	if _, err := Open(t.Context(), path, nil); !errors.Is(err, sqlite.ErrNewer) {
		t.Errorf("Open() beside a newer program = %v, want ErrNewer", err)
	}
	edit(t, path, fmt.Sprint("PRAGMA user_version = ", len(dbfile.EngineSchema.Migrations)))
	newStore(t, path, nil)
}

// TestLockFileDeleted: a process whose lock file is gone makes another one before it
// writes; if the engine was faster, it is refused until that has closed the file.
func TestLockFileDeleted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	first := acquire(t, s, "a")
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "b")
	if _, err := sqlite.Open(t.Context(), path, nil); !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("the engine after the lock was made again = %v, want ErrInUse", err)
	}
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	e, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "c", Holder: "h", TTL: time.Hour})
	if !errors.Is(err, leasehold.ErrUnavailable) || !errors.Is(err, sqlite.ErrInUse) {
		t.Errorf("Acquire() while the engine has the file = %v, want ErrInUse", err)
	}
	if _, err := e.SetSetting(t.Context(), leasehold.SettingMaxTTL, int64(60)); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "c", Holder: "h", TTL: time.Hour}); !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Acquire() with a ttl beyond what the engine has set = %v, want ErrInvalid", err)
	}
	g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "c", Holder: "h", TTL: time.Minute})
	if err != nil || g.Token <= first.Token {
		t.Errorf("Acquire() after the engine = %v, %v", g.Token, err)
	}
}

// TestCommitFails: what is not durable is not answered as done, and the connection
// that failed is not used again.
func TestCommitFails(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason leasehold.Reason
	}{
		"full":  {sqlitedb.ResultFull.ToError(), leasehold.ReasonUnavailable},
		"write": {sqlitedb.ResultIOErrWrite.ToError(), leasehold.ReasonUnavailable},
		"sync":  {sqlitedb.ResultIOErrFsync.ToError(), leasehold.ReasonUnknown},
		"other": {sqlitedb.ResultIOErr.ToError(), leasehold.ReasonUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, filepath.Join(t.TempDir(), "leases.db"), nil)
			first := acquire(t, s, "a")
			failed := s.db.write
			s.db.commit = func(*dbfile.Writer) error {
				s.db.commit = (*dbfile.Writer).Commit
				return c.err
			}
			id := leasehold.NewID()
			r := leasehold.AcquireRequest{Resource: "b", Holder: "h", TTL: time.Hour, ID: id}
			_, err := s.Acquire(t.Context(), r)
			if leasehold.ReasonOf(err) != c.reason {
				t.Errorf("Acquire() = %v, want %s", err, c.reason)
			}
			if strings.Contains(err.Error(), id.String()) {
				t.Errorf("the error shows the id")
			}
			if g, err := s.Acquire(t.Context(), r); err != nil || g.Token != first.Token+1 {
				t.Errorf("Acquire() again = token %d, %v, want the next token", g.Token, err)
			}
			if s.db.write == failed {
				t.Errorf("the connection whose commit failed is used again")
			}
		})
	}
}

// TestMalformedRow fails calls about that row, and no others.
func TestMalformedRow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	acquire(t, s, "a")
	edit(t, path, "UPDATE leases SET state = 77")
	_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "a", Holder: "h"})
	if !errors.Is(err, sqlite.ErrDamaged) || leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
		t.Errorf("Acquire() of a malformed row = %v, want ErrDamaged", err)
	}
	if _, err := s.Status(t.Context(), "a"); !errors.Is(err, sqlite.ErrDamaged) {
		t.Errorf("Status() of a malformed row = %v, want ErrDamaged", err)
	}
	acquire(t, s, "b")
}

// TestLockedByOthers: a program that keeps the file locked makes calls fail in time,
// and those that would be refused anyway do not wait.
func TestLockedByOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	acquire(t, s, "a")
	conn, err := dbfile.Connect(path, sqlitedb.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := dbfile.Run(conn, "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Status(t.Context(), "a"); err != nil {
		t.Errorf("Status() while another has the file = %v", err)
	}
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "a", Holder: "other"}); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("Acquire() of what is held while another has the file = %v, want ErrHeld", err)
	}
	_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "b", Holder: "h"})
	if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "other processes") {
		t.Errorf("Acquire() while another has the file = %v, want unavailable", err)
	}
	if err := dbfile.Run(conn, "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	acquire(t, s, "b")
}

// TestTurnTaken: a process that has the turn and does nothing does not stop others.
func TestTurnTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	acquire(t, s, "a")
	other := newTurn(path)
	if !other.try() || !other.held {
		t.Fatal("the turn is not free")
	}
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "a", Holder: "other"}); !errors.Is(err, leasehold.ErrHeld) {
		t.Errorf("Acquire() of what is held = %v, want ErrHeld", err)
	}
	acquire(t, s, "b")
	waits := runtime.NumGoroutine()
	for i := range 20 {
		acquire(t, s, fmt.Sprint("more-", i))
	}
	if now := runtime.NumGoroutine(); now > waits+5 {
		t.Errorf("%d goroutines after 20 operations, %d before: each waits for the turn", now, waits)
	}
	other.finish()
	acquire(t, s, "c")
	if err := other.close(); err != nil {
		t.Fatal(err)
	}
}
