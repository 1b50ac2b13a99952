package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
)

// checkKept compares the count of records in the file with the records, as of one
// moment.
func checkKept(t *testing.T, s *Store) {
	t.Helper()
	err := s.journal.read(t.Context(), &s.journal.readers, func(conn *sqlite.Conn) error {
		off, err := dbfile.QueryInt(conn, "SELECT kept - (SELECT count(*) FROM lease_history WHERE seq > purged) FROM lease_counters")
		if off != 0 {
			t.Errorf("the count of history records is off by %d", off)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wantRecords compares the figure with what was done and with the file.
func wantRecords(t *testing.T, s *Store, want int64) {
	t.Helper()
	if got := s.Figures().HistoryRecords; got != want {
		t.Errorf("Figures().HistoryRecords = %d, want %d", got, want)
	}
	checkKept(t, s)
}

// TestHistoryIsCounted: across a restart, a purge, a backup, a restore, and a
// migration of a file that has no count.
func TestHistoryIsCounted(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "leases.db"), filepath.Join(dir, "backup.db")
	s := newStore(t, path, nil)
	for i := range 20 {
		mustAcquire(t, s, fmt.Sprint("r", i))
	}
	wantRecords(t, s, 20)
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, 5); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Figures().Cleaned.HistoryPurged > 0 }) // a new setting starts a run
	wantRecords(t, s, 5)
	if f := s.Figures(); f.Cleaned.HistoryPurged != 17 { // 20, the setting and the purge make 22
		t.Errorf("Figures = %+v, want 17 purged", f)
	}
	s.Close()
	s = newStore(t, path, nil)
	wantRecords(t, s, 5)
	mustAcquire(t, s, "more")
	wantRecords(t, s, 6)
	s.Close()
	edit(t, path, `ALTER TABLE lease_counters DROP COLUMN kept; DELETE FROM migrations WHERE version = 4; PRAGMA user_version = 3;`)
	s = newStore(t, path, nil)
	wantRecords(t, s, 6)
	s.Close()
	if err := Restore(t.Context(), backup, path, &RestoreOptions{Replace: true}); err != nil {
		t.Fatal(err)
	}
	s = newStore(t, path, nil)
	wantRecords(t, s, 20)
	mustAcquire(t, s, "last")
	wantRecords(t, s, 21)
}

// TestHistoryIsCountedWhenCommitsFail, in each way.
func TestHistoryIsCountedWhenCommitsFail(t *testing.T) {
	for _, kind := range []fault{before, during, beyond} {
		var fault trigger
		path := filepath.Join(t.TempDir(), "leases.db")
		e, _ := newFaulty(t, path, kind, fault.fails)
		mustAcquire(t, e, "first")
		fault.pull()
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "second", Holder: "h", TTL: time.Hour})
		records, leases := int64(1), 1
		if kind == beyond {
			records, leases = 2, 2
		}
		if (err == nil) != (kind == beyond) {
			t.Fatalf("%s: Acquire() = %v", kind, err)
		}
		f := e.Figures()
		if f.HistoryRecords != records || f.Leases != leases || f.CommitFailures != 1 {
			t.Errorf("%s: Figures = %+v, want %d records, %d leases, one failure", kind, f, records, leases)
		}
		e.Close()
		s := newStore(t, path, nil)
		wantRecords(t, s, records)
		s.Close()
	}
}

// TestDiskFigures: the sizes of the files, and none of a missing disk.
func TestDiskFigures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, &Options{Reserve: 1 << 20})
	for i := range 50 {
		mustAcquire(t, s, fmt.Sprint("r", i))
	}
	var f local.Figures
	waitFor(t, func() bool { // the clock is saved every second, which may make the log grow
		before := fileSize(t, path) + fileSize(t, path+"-wal")
		f = s.Figures()
		return before == fileSize(t, path)+fileSize(t, path+"-wal") && f.Disk.Database == before
	})
	if f.Disk.Reserve != 1<<20 || f.Disk.Free == 0 || f.Leases != 50 {
		t.Errorf("Figures = %+v, want 50 leases and 1 MiB in reserve", f)
	}
	s.Close()
	if err := os.Remove(path + ".reserve"); err != nil {
		t.Fatal(err)
	}
	if f := newStore(t, path, nil).Figures(); f.Disk.Reserve != 0 || f.Disk.Database != fileSize(t, path)+int64(max(0, sizeOf(path+"-wal"))) {
		t.Errorf("Figures = %+v, want no reserve", f)
	}
}

// TestCommitsAreObserved through the store's options.
func TestCommitsAreObserved(t *testing.T) {
	var mu sync.Mutex
	changes := 0
	s := newStore(t, filepath.Join(t.TempDir(), "leases.db"), &Options{Observer: &local.Observer{Commit: func(c local.Commit) {
		mu.Lock()
		defer mu.Unlock()
		changes += c.Changes
		if c.Took <= 0 || c.Err != nil {
			t.Errorf("a commit took %v: %v", c.Took, c.Err)
		}
	}}})
	for i := range 7 {
		mustAcquire(t, s, fmt.Sprint("r", i))
	}
	if err := s.Close(); err != nil || changes != 7 {
		t.Errorf("%d changes were observed, want 7 (%v)", changes, err)
	}
}

// contextKey is of a value that a log handler finds in a request's context.
type contextKey struct{}

// requestHandler adds that value to each line.
type requestHandler struct{ slog.Handler }

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	r.AddAttrs(slog.Any("request", ctx.Value(contextKey{})))
	return h.Handler.Handle(ctx, r)
}

// TestDamageIsLogged, with the context of the request that found it.
func TestDamageIsLogged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	g := mustAcquire(t, s, "r")
	s.Close()
	edit(t, path, "UPDATE lease_history SET details = '[1]'")
	var out bytes.Buffer
	s = newStore(t, path, &Options{Logger: slog.New(requestHandler{slog.NewJSONHandler(&out, nil)})})
	_, err := s.History(context.WithValue(t.Context(), contextKey{}, "seven"), leasehold.HistoryRequest{})
	if !errors.Is(err, ErrDamaged) {
		t.Fatalf("History() of a damaged record = %v", err)
	}
	s.Close()
	text := out.String()
	for _, want := range []string{`"level":"ERROR","msg":"the database is damaged","error":`, `restore the last backup`, `"request":"seven"`} {
		if !strings.Contains(text, want) {
			t.Errorf("the log lacks %s:\n%s", want, text)
		}
	}
	if strings.Count(text, "\n") != 1 || strings.Contains(text, g.ID.Reveal()) {
		t.Errorf("the log has more than one line, or a lease id:\n%s", text)
	}
}
