package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
)

// TestBackupAndRestore copies a store that is being hammered. The copy holds
// what had been acknowledged, is consistent, and continues with tokens
// that were never given out.
func TestBackupAndRestore(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, filepath.Join(dir, "leases.db"), &Options{Modules: []engine.Module{toys}})
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	var mu sync.Mutex
	acked := map[string]leasehold.Grant{}
	last := uint64(0)
	for w := range 8 {
		workers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				r := leasehold.AcquireRequest{Resource: fmt.Sprintf("r/%d/%d", w, i), Holder: "h", TTL: time.Hour}
				g, err := s.Acquire(t.Context(), r)
				if err != nil {
					t.Errorf("Acquire() = %v", err)
					return
				}
				mu.Lock()
				acked[g.Resource] = g
				last = max(last, g.Token)
				mu.Unlock()
			}
		})
	}
	waitFor(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(acked) > 100 })
	if _, err := acquireToy(t.Context(), s, "toy"); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	before := make(map[string]leasehold.Grant)
	for k, v := range acked {
		before[k] = v
	}
	mu.Unlock()
	backup := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	cancel()
	workers.Wait()
	s.Close()

	restored := filepath.Join(dir, "restored.db")
	if err := Restore(t.Context(), backup, restored, nil); err != nil {
		t.Fatalf("Restore() = %v", err)
	}
	s = newStore(t, restored, &Options{Modules: []engine.Module{toys}})
	for resource, g := range before {
		l, err := s.Find(t.Context(), g.ID)
		if err != nil || l.Resource != resource || l.Token != g.Token || l.State != leasehold.StateActive {
			t.Errorf("Find(id of %s) = %+v, %v, want it as it was", resource, l, err)
		}
	}
	if rows, err := toyRows(t.Context(), s); err != nil || len(rows) != 1 {
		t.Errorf("Query() = %v, %v, want the toy", rows, err)
	}
	if g := mustAcquire(t, s, "new"); g.Token <= TokensSkipped || g.Token <= last {
		t.Errorf("Acquire() after the restore = token %d, want more than 2^32 and %d", g.Token, last)
	}
	w := newChecker()
	w.checkHistory(t, s)
	w.checkOrphans(t, w.listAll(t, s))
	t.Logf("%d leases before the backup, %d in all", len(before), len(acked))
}

// TestBackupKeepsClaims, and notes, of a lease that is live and of one that has ended.
func TestBackupKeepsClaims(t *testing.T) {
	dir := t.TempDir()
	path, backup, restored := filepath.Join(dir, "leases.db"), filepath.Join(dir, "backup.db"), filepath.Join(dir, "restored.db")
	live, ended := setRow(leasehold.StateActive), setRow(leasehold.StateReleased)
	ended.Resource, ended.ID, ended.Ends = leasehold.SetPrefix+"13", leasehold.NewID(), 1
	j := openAt(t, path, Options{})
	_, state := mustLoad(t, j)
	mustCommit(t, j, &local.Batch{Counters: state.Counters, Rows: []local.RowChange{{Row: live}, {Row: ended}}})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	s := newStore(t, path, nil)
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	s.Close()
	if err := Restore(t.Context(), backup, restored, nil); err != nil {
		t.Fatalf("Restore() = %v", err)
	}
	rows, _ := mustLoad(t, openAt(t, restored, Options{}))
	if diff := cmp.Diff([]machine.Row{live, ended}, rows, sameRows); diff != "" {
		t.Errorf("after the restore (-want +got):\n%s", diff)
	}
}

// waitFor waits until f is true.
func waitFor(t *testing.T, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); {
		if time.Now().After(deadline) {
			t.Fatal("it never came about")
		}
		time.Sleep(time.Millisecond) // real files: there is no bubble to wait in
	}
}

func TestBackupRefuses(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, filepath.Join(dir, "leases.db"), nil)
	mustAcquire(t, s, "r")
	taken := filepath.Join(dir, "taken.db")
	write(t, taken, "precious")
	err := s.Backup(t.Context(), taken)
	if !errors.Is(err, ErrExists) || !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("Backup(existing file) = %v, want ErrExists", err)
	}
	if data, _ := os.ReadFile(taken); string(data) != "precious" {
		t.Errorf("the file in the way is %q now", data)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "leases.db")); !errors.Is(err, ErrExists) {
		t.Errorf("Backup(the store itself) = %v, want ErrExists", err)
	}
	for _, path := range []string{"", dir, filepath.Join(dir, "no", "backup.db")} {
		if err := s.Backup(t.Context(), path); !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("Backup(%q) = %v, want ErrInvalid", path, err)
		}
	}
	mustAcquire(t, s, "s")
}

// TestBackupCancelled leaves nothing behind.
func TestBackupCancelled(t *testing.T) {
	dir := t.TempDir()
	s := newStore(t, filepath.Join(dir, "leases.db"), nil)
	path := filepath.Join(dir, "backup.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("Backup(ended context) = %v, want context.Canceled", err)
	}
	write(t, path+".partial", "in the way")
	if err := s.Backup(t.Context(), path); !errors.Is(err, ErrExists) {
		t.Errorf("Backup() beside a partial one = %v, want ErrExists", err)
	}
	s.Close()
	if err := s.Backup(t.Context(), path); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Backup() of a closed store = %v, want ErrUnavailable", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s was left behind", path)
	}
	if data, err := os.ReadFile(path + ".partial"); string(data) != "in the way" {
		t.Errorf("the file in the way is %q, %v", data, err)
	}
}

// backedUp makes a backup of a store with one lease.
func backedUp(t *testing.T, dir string) (backup string, g leasehold.Grant) {
	t.Helper()
	s := newStore(t, filepath.Join(dir, "origin.db"), nil)
	g = mustAcquire(t, s, "r")
	backup = filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	s.Close()
	return backup, g
}

func TestRestoreRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, backup, path string)
		opts *RestoreOptions
		what error
		says string
	}{
		"path exists": {
			make: func(t *testing.T, _, path string) { newStore(t, path, nil).Close() },
			what: ErrExists, says: "ask to replace it",
		},
		"path in use": {
			make: func(t *testing.T, _, path string) { newStore(t, path, nil) },
			opts: &RestoreOptions{Replace: true},
			what: ErrInUse, says: "in use by process",
		},
		"path is another program's": {
			make: func(t *testing.T, _, path string) { edit(t, path, "CREATE TABLE recipes (name)") },
			opts: &RestoreOptions{Replace: true},
			what: ErrForeign, says: "move the file away first",
		},
		"backup is missing": {
			make: func(t *testing.T, backup, _ string) { os.Remove(backup) },
			what: leasehold.ErrInvalid, says: "backup cannot be read",
		},
		"backup is empty": {
			make: func(t *testing.T, backup, _ string) { write(t, backup, "") },
			what: ErrForeign, says: "another program",
		},
		"backup is text": {
			make: func(t *testing.T, backup, _ string) { write(t, backup, strings.Repeat("text", 100)) },
			what: ErrForeign, says: "is no SQLite database",
		},
		"backup is another program's": {
			make: func(t *testing.T, backup, _ string) {
				os.Remove(backup)
				edit(t, backup, "CREATE TABLE recipes (name)")
			},
			what: ErrForeign, says: "another program",
		},
		"backup is newer": {
			make: func(t *testing.T, backup, _ string) { edit(t, backup, "PRAGMA user_version = 99") },
			what: ErrNewer, says: "version 99",
		},
		"backup is damaged": {
			make: func(t *testing.T, backup, _ string) { corrupt(t, backup, 0.5, 0.9) },
			what: ErrDamaged, says: "is damaged",
		},
		"tokens are used up": {
			make: func(t *testing.T, backup, _ string) {
				edit(t, backup, fmt.Sprintf("UPDATE lease_counters SET token = %d", leasehold.MaxToken-TokensSkipped))
			},
			what: leasehold.ErrUnavailable, says: "token counter would pass its end",
		},
		"no directory": {
			make: func(t *testing.T, _, path string) { os.Remove(filepath.Dir(path)) },
			what: leasehold.ErrInvalid, says: "make it first",
		},
	} {
		t.Run(name, func(t *testing.T) {
			backup, _ := backedUp(t, t.TempDir())
			path := filepath.Join(t.TempDir(), "leases.db")
			c.make(t, backup, path)
			before, _ := os.ReadFile(path)
			err := Restore(t.Context(), backup, path, c.opts)
			if !errors.Is(err, c.what) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Restore() = %v, want %v that says %q", err, c.what, c.says)
			}
			if e := (*leasehold.Error)(nil); !errors.As(err, &e) || e.Op != "restore" {
				t.Errorf("Restore() = %#v, want an *Error of restore", err)
			}
			if after, _ := os.ReadFile(path); string(after) != string(before) {
				t.Error("Restore() changed the file all the same")
			}
			if _, err := os.Stat(path + ".restoring"); err == nil {
				t.Error("Restore() left its copy behind")
			}
		})
	}
}

// TestRestoreReplaces: the old database goes, but its tokens are not repeated,
// however often the same backup is restored. A log that belonged to it does not
// spoil the new one.
func TestRestoreReplaces(t *testing.T) {
	dir := t.TempDir()
	backup, g := backedUp(t, dir)
	path := filepath.Join(dir, "leases.db")
	last := g.Token
	for range 3 {
		if err := Restore(t.Context(), backup, path, &RestoreOptions{Replace: true}); err != nil {
			t.Fatalf("Restore() = %v", err)
		}
		s := newStore(t, path, nil)
		if l, err := s.Find(t.Context(), g.ID); err != nil || l.Token != g.Token {
			t.Errorf("Find() = %+v, %v, want the lease of the backup", l, err)
		}
		next := mustAcquire(t, s, "new").Token
		if next < last+TokensSkipped {
			t.Errorf("Acquire() after the restore = token %d, want 2^32 more than %d", next, last)
		}
		last = next
		s.Close()
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("the restored file has mode %v, %v, want -rw-------", info.Mode(), err)
	}
}

// TestRestoreOverAKilledStore: the process was killed, its log is still there, and
// so is what a restore that was killed itself had left.
func TestRestoreOverAKilledStore(t *testing.T) {
	dir := t.TempDir()
	backup, g := backedUp(t, dir)
	for _, damaged := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "leases.db")
		newChecker().watch(t, path, 50*time.Millisecond, false)
		if _, err := os.Stat(path + "-wal"); err != nil {
			t.Fatalf("the killed process left no log: %v", err)
		}
		write(t, path+".restoring", "half")
		if damaged {
			corrupt(t, path, 0.3, 1)
		}
		if err := Restore(t.Context(), backup, path, &RestoreOptions{Replace: true}); err != nil {
			t.Fatalf("Restore() = %v", err)
		}
		s := newStore(t, path, nil)
		if leases := newChecker().listAll(t, s); len(leases) != 1 || leases["r"].Token != g.Token {
			t.Errorf("after the restore the leases are %v, want that of the backup", leases)
		}
		s.Close()
	}
}

func TestRestoreCancelled(t *testing.T) {
	dir := t.TempDir()
	backup, _ := backedUp(t, dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	path := filepath.Join(dir, "leases.db")
	if err := Restore(ctx, backup, path, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Restore(ended context) = %v, want context.Canceled", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Restore(ended context) left a file: %v", err)
	}
}

// TestBackupCarriesNoBoot: a backup that is opened on the machine it was made on
// is no older than one that is opened elsewhere. The same goes for a plain copy
// of the file that is restored, and for a file of a program that knew no boots.
func TestBackupCarriesNoBoot(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "leases.db")
	s := newStore(t, path, nil)
	mustAcquire(t, s, "r")
	backup := filepath.Join(dir, "backup.db")
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatalf("Backup() = %v", err)
	}
	if left, err := filepath.Glob(backup + "?*"); err != nil || len(left) > 0 {
		t.Errorf("Backup() left %q, %v", left, err)
	}
	s.Close()
	edit(t, path, "UPDATE lease_counters SET boot_id = 'this one'") // also where there is no boot clock
	const boot = "SELECT boot_id, time_namespace, boot_clock, wall_clock FROM lease_counters"
	none := []string{" |  |  | "}
	if diff := cmp.Diff(none, query(t, backup, boot)); diff != "" {
		t.Errorf("the backup's boot (-want +got):\n%s", diff)
	}
	restored := filepath.Join(dir, "restored.db")
	if err := Restore(t.Context(), path, restored, nil); err != nil {
		t.Fatalf("Restore() of a plain copy = %v", err)
	}
	if diff := cmp.Diff(none, query(t, restored, boot)); diff != "" {
		t.Errorf("the boot of what was restored (-want +got):\n%s", diff)
	}
}

// firstSchema takes a file back to the first version of the schema.
func firstSchema(t *testing.T, path string) {
	t.Helper()
	edit(t, path, `
		ALTER TABLE lease_counters DROP COLUMN boot_id;
		ALTER TABLE lease_counters DROP COLUMN time_namespace;
		ALTER TABLE lease_counters DROP COLUMN boot_clock;
		ALTER TABLE lease_counters DROP COLUMN wall_clock;
		ALTER TABLE lease_counters DROP COLUMN kept;
		ALTER TABLE leases DROP COLUMN caller;
		ALTER TABLE leases DROP COLUMN claims;
		ALTER TABLE leases DROP COLUMN notes;
		DROP TABLE lease_move;
		DELETE FROM migrations WHERE version > 1;
		PRAGMA user_version = 1;`)
}

// TestRestoreOfAnOldBackup: old files have tokens too, those that are restored
// and those that are replaced.
func TestRestoreOfAnOldBackup(t *testing.T) {
	dir := t.TempDir()
	backup, _ := backedUp(t, dir)
	path := filepath.Join(dir, "old.db")
	s := newStore(t, path, nil)
	var last leasehold.Grant
	for i := range 5 {
		last = mustAcquire(t, s, fmt.Sprint("r", i))
	}
	s.Close()
	firstSchema(t, backup)
	firstSchema(t, path)
	if err := Restore(t.Context(), backup, path, &RestoreOptions{Replace: true}); err != nil {
		t.Fatalf("Restore() = %v", err)
	}
	if g := mustAcquire(t, newStore(t, path, nil), "new"); g.Token != last.Token+TokensSkipped+1 {
		t.Errorf("token %d after the restore, want 2^32 beyond the %d of the file it replaced", g.Token, last.Token)
	}
}
