//go:build unix

package move_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/open"
)

// What a move relies on, of each store that can be moved.
func TestContract(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		url := open.SQLiteURL(filepath.Join(t.TempDir(), "leases.db"))
		contract(t, openMovable(t, url), remembers)
		scopedStays(t, openMovable(t, url))
	})
	t.Run("postgres", func(t *testing.T) {
		contract(t, openMovable(t, testserver.PostgresURL(testserver.Postgres(t).Addr, "postgres")), remembers)
	})
	t.Run("etcd", func(t *testing.T) {
		contract(t, openMovable(t, "etcd://"+testserver.Etcd(t).Addr), forgets)
	})
}

// memory is how many of the ended leases a store remembers.
type memory int

const (
	forgets   memory = 0
	remembers memory = 1
)

func contract(t *testing.T, s open.Movable, ends memory) {
	swap := func(old, next move.Mark, want error) {
		t.Helper()
		if err := s.SwapMoveMark(t.Context(), old, next); !errors.Is(err, want) {
			t.Fatalf("SwapMoveMark(%+v, %+v) = %v, want %v", old, next, err, want)
		}
	}
	mark := func(want move.Mark) {
		t.Helper()
		got, err := s.MoveMark(t.Context())
		if err != nil || !got.Is(want) || got.Peer != want.Peer || (got.Lasts > 0) != (want.State == move.Leaving) {
			t.Fatalf("MoveMark = %+v, %v, want %+v", got, err, want)
		}
	}
	acquire := func(resource string) (leasehold.Grant, error) {
		return s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Hour})
	}
	mark(move.Mark{})

	// A target: only its own move changes it.
	arriving := move.Mark{ID: "m/1", State: move.Arriving, Peer: "peer:"}
	swap(move.Mark{ID: "other"}, arriving, move.ErrMarkChanged)
	swap(move.Mark{}, arriving, nil)
	mark(arriving)
	if _, err := acquire("r"); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Fatalf("an arriving store grants: %v", err)
	}
	if _, err := s.Status(t.Context(), "r"); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Fatalf("an arriving store answers: %v", err)
	}
	row := machine.Row{
		Resource: "r", Holder: "ann", ID: leasehold.NewID(), Token: 41, State: leasehold.StateActive, TTL: time.Minute,
		MaxRenewals: 3, Renewals: 2, Metadata: map[string]string{"k": "v"}, Former: leasehold.NewID(), Handed: true, Caller: "token:x",
		Acquired: 1_700_000_000_000, Renewed: 1_700_000_001_000,
	}
	ended := machine.Row{Resource: "s", Holder: "ben", ID: leasehold.NewID(), Token: 40, State: leasehold.StateReleased, TTL: time.Minute}
	if s.KeepsNotes() {
		row.Notes = []leasehold.Note{{From: "cy", Text: "half done"}}
	}
	leases := []move.Lease{{Row: row, Remaining: 30*time.Second + 1}, {Row: ended}}
	stale := move.Mark{ID: "m/0", State: move.Arriving}
	if err := s.Import(t.Context(), stale, leases); !errors.Is(err, move.ErrMarkChanged) {
		t.Fatalf("Import of another run = %v", err)
	}
	if err := s.ImportBase(t.Context(), stale, 1, nil); !errors.Is(err, move.ErrMarkChanged) {
		t.Fatalf("ImportBase of another run = %v", err)
	}
	if _, err := s.Clear(t.Context(), stale); !errors.Is(err, move.ErrMarkChanged) {
		t.Fatalf("Clear of another run = %v", err)
	}
	for range 2 { // a second time it replaces
		if err := s.Import(t.Context(), arriving, leases); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.ImportBase(t.Context(), arriving, 1000, map[string]any{leasehold.SettingMaxRenewals: int64(9), leasehold.SettingKeepHistory: true}); err != nil {
		t.Fatal(err)
	}
	swap(arriving, move.Mark{ID: "m/1"}, nil)
	mark(move.Mark{ID: "m/1"})
	page, err := s.Export(t.Context(), "", 1)
	if err != nil || len(page) != 1 || page[0].Row.ID != row.ID || page[0].Remaining < 20*time.Second || page[0].Row.Caller != row.Caller {
		t.Fatalf("Export = %+v, %v", page, err)
	}
	page[0].Row.Ends = 0
	if diff := cmp.Diff(row, page[0].Row); diff != "" {
		t.Fatalf("the row has changed (-want +got):\n%s", diff)
	}
	page, err = s.Export(t.Context(), "r", 10)
	if err != nil || len(page) != int(ends) || ends == remembers && (page[0].Row.ID != ended.ID || page[0].Remaining != 0) {
		t.Fatalf("Export after r = %+v, %v", page, err)
	}
	g, err := acquire("t")
	if err != nil || g.Token <= 1000 || g.MaxRenewals != 9 {
		t.Fatalf("Acquire = token %d, max renewals %d, %v; want a token above 1000, and 9", g.Token, g.MaxRenewals, err)
	}

	// A store in use is no target.
	var used *move.InUseError
	if err := s.SwapMoveMark(t.Context(), move.Mark{ID: "m/1"}, arriving); !errors.As(err, &used) {
		t.Fatalf("open → arriving of a store in use = %v", err)
	}

	// A source: reads only, and open again when its time is up, for ever.
	leaving := move.Mark{ID: "n/1", State: move.Leaving, Peer: "to:", Lasts: time.Hour}
	swap(move.Mark{ID: "m/1"}, leaving, nil)
	mark(leaving)
	if _, err := acquire("u"); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Fatalf("a leaving store grants: %v", err)
	}
	if _, err := s.Status(t.Context(), "r"); err != nil {
		t.Fatalf("a leaving store does not answer: %v", err)
	}
	short := leaving
	short.Lasts = time.Millisecond
	swap(leaving, short, nil)
	untilOpen(t, s)
	mark(move.Mark{ID: "n/1", Peer: "to:"})
	swap(leaving, leaving, move.ErrMarkChanged)
	swap(leaving, move.Mark{ID: "n/1", State: move.Left}, move.ErrMarkChanged)
	if g, err = acquire("u"); err != nil {
		t.Fatal(err)
	}

	// The commit point and the end.
	leaving.ID = "n/2"
	left := move.Mark{ID: "n/2", State: move.Left, Peer: "to:"}
	swap(move.Mark{ID: "n/1"}, leaving, nil)
	swap(leaving, left, nil)
	if summary, err := s.MoveSummary(t.Context()); err != nil || summary.Live != 3 || summary.Ended != int64(ends) || summary.Token < g.Token {
		t.Fatalf("MoveSummary = %+v, %v; want 3 live leases and %d ended ones, token %d", summary, err, ends, g.Token)
	}
	if _, err := s.Status(t.Context(), "r"); !errors.Is(err, leasehold.ErrUnavailable) {
		t.Fatalf("a store that has left answers: %v", err)
	}
	moved := left
	moved.State = move.Moved
	swap(left, moved, nil)
	mark(moved)
	if summary, err := s.MoveSummary(t.Context()); err != nil || summary.Live+summary.Ended != 0 || summary.Token < g.Token {
		t.Fatalf("MoveSummary of a moved store = %+v, %v", summary, err)
	}

	// It may be a target again, and its tokens still grow.
	arriving.ID = "n/3"
	swap(moved, arriving, nil)
	if err := s.ImportBase(t.Context(), arriving, 1, map[string]any{}); err != nil {
		t.Fatal(err)
	}
	swap(arriving, move.Mark{ID: "n/3"}, nil)
	if again, err := acquire("u"); err != nil || again.Token <= g.Token || again.MaxRenewals != leasehold.Unlimited {
		t.Fatalf("Acquire = %+v, %v; want a token above %d and the settings' defaults", again, err, g.Token)
	}
}

// untilOpen waits until leaving has run out: etcd keeps it for some seconds at least.
func untilOpen(t *testing.T, s move.Store) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		mark, err := s.MoveMark(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case mark.State == move.Open:
			return
		case time.Now().After(limit):
			t.Fatalf("the mark is still %+v", mark)
		}
	}
}

// scopedStays: blob leases are neither moved nor deleted.
func scopedStays(t *testing.T, s open.Movable) {
	mark, err := s.MoveMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	leaving := move.Mark{ID: "s/1", State: move.Leaving, Lasts: time.Hour}
	steps := []move.Mark{mark, leaving, {ID: "s/1", State: move.Left}, {ID: "s/1", State: move.Moved}, {ID: "s/2", State: move.Arriving}}
	for i := 1; i < len(steps); i++ {
		if err := s.SwapMoveMark(t.Context(), steps[i-1], steps[i]); err != nil {
			t.Fatal(err)
		}
	}
	arriving := steps[len(steps)-1]
	blob := machine.Row{Resource: "blob:a", Holder: "h", ID: leasehold.NewID(), Token: 5, State: leasehold.StateActive, TTL: time.Hour, Scoped: true}
	if err := s.Import(t.Context(), arriving, []move.Lease{{Row: blob, Remaining: time.Hour}}); err != nil {
		t.Fatal(err)
	}
	if more, err := s.Clear(t.Context(), arriving); more || err != nil {
		t.Fatalf("Clear = %v, %v", more, err)
	}
	summary, err := s.MoveSummary(t.Context())
	if err != nil || summary.Scoped != 1 || summary.Live+summary.Ended != 0 {
		t.Fatalf("MoveSummary = %+v, %v; want one blob lease", summary, err)
	}
	if page, err := s.Export(t.Context(), "", 10); err != nil || len(page) != 0 {
		t.Fatalf("Export = %+v, %v; want no blob lease", page, err)
	}
}
