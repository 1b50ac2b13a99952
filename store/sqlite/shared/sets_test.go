package shared

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	sqlitedb "zombiezen.com/go/sqlite"
)

const (
	claimsText = `[{"namespace":"repo","pattern":"src/**","mode":"exclusive"},{"pattern":"go.mod","mode":"shared"}]`
	notesText  = `[{"from":"agent:0","text":"half done"}]`
)

// addRow writes a row behind the stores' backs, with a ttl of an hour. Ends is an
// expression over the file's clock.
func addRow(t *testing.T, path, resource string, state leasehold.State, ends, claims, notes string) leasehold.ID {
	t.Helper()
	id := leasehold.NewID()
	orNull := func(text string) string {
		if text == "" {
			return "NULL"
		}
		return "'" + text + "'"
	}
	edit(t, path, fmt.Sprintf(`
		INSERT INTO leases (resource, holder, id, token, state, ttl, ends, acquired, renewed, renewals, max_renewals, handed, scoped, claims, notes)
		SELECT '%s', 'h', x'%x', token, %d, 3600000000000, %s, 1, 1, 0, -1, 0, 0, %s, %s FROM lease_counters`,
		resource, [16]byte(id), state, ends, orNull(claims), orNull(notes)))
	return id
}

// column reads one column of a row, past the stores.
func column(t *testing.T, path, name, resource string) (value string) {
	t.Helper()
	conn, err := dbfile.Connect(path, sqlitedb.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = query(conn, "SELECT coalesce("+name+", 'none') FROM leases WHERE resource = '"+resource+"'", nil, func(s *sqlitedb.Stmt) error {
		value = s.ColumnText(0)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func savedClock(t *testing.T, path string) int64 {
	t.Helper()
	conn, err := dbfile.Connect(path, sqlitedb.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	clock, err := dbfile.QueryInt(conn, "SELECT clock FROM lease_counters")
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func openEngine(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRefusesLiveSets: a lease of claims would not be seen by an acquire of what it
// covers. The file stays as it was.
func TestRefusesLiveSets(t *testing.T) {
	for name, c := range map[string]struct {
		state leasehold.State
		ends  string
	}{
		"active":   {leasehold.StateActive, "clock + 3600000000000"},
		"endless":  {leasehold.StateActive, "9223372036854775807"},
		"breaking": {leasehold.StateBreaking, "clock + 30000000000"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases.db")
			openEngine(t, path).Close()
			addRow(t, path, leasehold.SetPrefix+"1", c.state, c.ends, claimsText, "")
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), path, nil)
			if !errors.Is(err, sqlite.ErrSets) || leasehold.ReasonOf(err) != leasehold.ReasonUnavailable {
				t.Fatalf("Open() = %v, want ErrSets", err)
			}
			for _, says := range []string{path, "live leases on several resources or patterns (1 of them)", "open it without mode=shared", "leasehold break"} {
				if !strings.Contains(err.Error(), says) {
					t.Errorf("Open() = %q, want it to say %q", err, says)
				}
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
				t.Errorf("the file has changed, %v", err)
			}
			openEngine(t, path) // still opens it
		})
	}
}

// TestEndedSets are no obstacle, whether their end is recorded or only past; and one
// whose end is past does not come back to life.
func TestEndedSets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	openEngine(t, path).Close()
	addRow(t, path, leasehold.SetPrefix+"1", leasehold.StateReleased, "clock", claimsText, notesText)
	addRow(t, path, leasehold.SetPrefix+"2", leasehold.StateExpired, "clock", "", "")
	due := addRow(t, path, leasehold.SetPrefix+"3", leasehold.StateActive, "clock + 1", claimsText, "")
	plain := addRow(t, path, "__sets", leasehold.StateActive, "9223372036854775807", "", "") // not a set's name
	saved := savedClock(t, path)
	if err := dbfile.CheckShareable(path); err != nil { // as the first process does, but nobody sweeps yet
		t.Fatal(err)
	}
	if now := savedClock(t, path); now <= saved {
		t.Errorf("the clock is %d, want it saved after %d", now, saved)
	}
	s := newStore(t, path, nil)
	acquire(t, s, "go.mod")
	if l, err := s.Find(t.Context(), due); err != nil || l.State != leasehold.StateExpired || l.Claims != nil {
		t.Errorf("Find() of the set that is due = %+v, %v, want it expired", l, err)
	}
	if l, err := s.Find(t.Context(), plain); err != nil || l.State != leasehold.StateActive {
		t.Errorf("Find() of a plain lease = %+v, %v, want it active", l, err)
	}
	if _, err := s.Cleanup(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := column(t, path, "claims", leasehold.SetPrefix+"1") + column(t, path, "notes", leasehold.SetPrefix+"1"); got != claimsText+notesText {
		t.Errorf("what the ended set left is %s now", got)
	}
	if got := column(t, path, "claims", leasehold.SetPrefix+"3"); got != "none" {
		t.Errorf("the claims of the set that has expired are %s", got)
	}
}

// TestNotesAreKept: shared mode leaves none, and hands those over that are there.
func TestNotesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	openEngine(t, path).Close()
	held := addRow(t, path, "held", leasehold.StateActive, "clock + 3600000000000", "", notesText)
	addRow(t, path, "free", leasehold.StateReleased, "clock", "", notesText)
	s := newStore(t, path, nil)
	want := []leasehold.Note{{From: "agent:0", Text: "half done"}}
	l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: held})
	if diff := cmp.Diff(want, l.Notes); err != nil || diff != "" {
		t.Errorf("the notes after Renew() = %v (-want +got):\n%s", err, diff)
	}
	next := acquire(t, s, "free")
	if diff := cmp.Diff(want, next.Notes); diff != "" {
		t.Errorf("the notes of the next holder (-want +got):\n%s", diff)
	}
	for _, resource := range []string{"held", "free"} {
		if got := column(t, path, "notes", resource); got != notesText {
			t.Errorf("the notes of %s are %s", resource, got)
		}
	}
	if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: next.ID}); err != nil {
		t.Fatal(err)
	}
	if got := acquire(t, s, "free").Notes; got != nil {
		t.Errorf("the holder after the next is told %v, want nothing", got)
	}
}

// TestSetsWhileUnlocked: an engine that got in because the lock file was deleted may
// have granted a set.
func TestSetsWhileUnlocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	acquire(t, s, "a")
	if err := os.Remove(path + ".lock"); err != nil {
		t.Fatal(err)
	}
	addRow(t, path, leasehold.SetPrefix+"1", leasehold.StateActive, "clock + 3600000000000", claimsText, "")
	r := leasehold.AcquireRequest{Resource: "go.mod", Holder: "h", TTL: time.Minute}
	if _, err := s.Acquire(t.Context(), r); !errors.Is(err, sqlite.ErrSets) || !errors.Is(err, leasehold.ErrUnavailable) {
		t.Errorf("Acquire() beside a set = %v, want ErrSets", err)
	}
	edit(t, path, "UPDATE leases SET state = 3, claims = NULL WHERE claims IS NOT NULL")
	if _, err := s.Acquire(t.Context(), r); err != nil {
		t.Errorf("Acquire() after the set's end = %v", err)
	}
}

// TestMoveNotes: how many notes a move would carry, not counting what is forgotten.
func TestMoveNotes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	openEngine(t, path).Close()
	edit(t, path, "UPDATE lease_counters SET clock = 86400000000000")
	addRow(t, path, "held", leasehold.StateActive, "clock + 3600000000000", "", notesText)
	addRow(t, path, "free", leasehold.StateReleased, "clock", "", notesText)
	addRow(t, path, leasehold.SetPrefix+"1", leasehold.StateReleased, "clock", claimsText, notesText)
	addRow(t, path, "expired", leasehold.StateActive, "clock - 1", "", notesText)
	addRow(t, path, "long ago", leasehold.StateReleased, "clock - 3601000000000", "", notesText)
	addRow(t, path, "plain", leasehold.StateActive, "clock + 3600000000000", "", "")
	s := newStore(t, path, nil)
	if summary, err := s.MoveSummary(t.Context()); err != nil || summary.Notes != 3 || !s.KeepsNotes() {
		t.Errorf("MoveSummary() = %+v, %v, KeepsNotes() = %v, want 3 notes that are kept", summary, err, s.KeepsNotes())
	}
}
