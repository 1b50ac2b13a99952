package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"pgregory.net/rapid"
)

// newJournal opens a journal on a file of its own, loaded.
func newJournal(t testing.TB, opts Options) *journal {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "leases.db"), opts)
}

func openAt(t testing.TB, path string, opts Options) *journal {
	t.Helper()
	j, err := openJournal(t.Context(), path, opts)
	if err != nil {
		t.Fatalf("openJournal(%q) = %v", path, err)
	}
	t.Cleanup(func() { j.Close() })
	mustLoad(t, j)
	return j
}

func mustLoad(t testing.TB, j *journal) ([]machine.Row, local.JournalState) {
	t.Helper()
	var rows []machine.Row
	state, err := j.Load(context.Background(), func(r machine.Row) error {
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		t.Fatalf("Load() = %v", err)
	}
	return rows, state
}

func mustCommit(t testing.TB, j *journal, b *local.Batch) {
	t.Helper()
	if err := j.Commit(b); err != nil {
		t.Fatalf("Commit(%d) = %v", b.Commit, err)
	}
}

// sameRows compares rows with their ids, which do not print.
var sameRows = cmp.Comparer(func(a, b leasehold.ID) bool { return a == b })

func anyID(t *rapid.T, label string) (id leasehold.ID) {
	copy(id[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, label))
	return id
}

func anyPairs(t *rapid.T, label string) map[string]string {
	m := rapid.MapOfN(rapid.StringMatching(`[A-Za-z0-9_.-]{1,20}`), rapid.String(), 0, 4).Draw(t, label)
	if len(m) == 0 {
		return nil
	}
	return m
}

// anyClaims are often none.
var anyClaims = noneOr(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) leasehold.Claim {
	return leasehold.Claim{
		Namespace: rapid.OneOf(rapid.Just(""), rapid.String()).Draw(t, "namespace"),
		Pattern:   rapid.String().Draw(t, "pattern"),
		Mode:      rapid.SampledFrom([]leasehold.Mode{leasehold.Exclusive, leasehold.Shared}).Draw(t, "mode"),
	}
}), 1, 4))

var anyNotes = noneOr(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) leasehold.Note {
	return leasehold.Note{From: rapid.String().Draw(t, "from"), Text: rapid.String().Draw(t, "text")}
}), 1, 3))

func noneOr[T any](some *rapid.Generator[[]T]) *rapid.Generator[[]T] {
	return rapid.OneOf(rapid.Just([]T(nil)), some)
}

func anyRow(t *rapid.T) machine.Row {
	edge := rapid.SampledFrom([]int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 40})
	ends := rapid.OneOf(edge, rapid.Int64())
	row := machine.Row{
		Resource:    rapid.StringN(1, 40, -1).Draw(t, "resource"),
		Holder:      rapid.String().Draw(t, "holder"),
		ID:          anyID(t, "id"),
		Token:       rapid.Uint64Max(leasehold.MaxToken).Draw(t, "token"),
		State:       leasehold.State(rapid.IntRange(0, int(leasehold.StateBroken)).Draw(t, "state")),
		TTL:         time.Duration(ends.Draw(t, "ttl")),
		Ends:        machine.Time(ends.Draw(t, "ends")),
		Acquired:    ends.Draw(t, "acquired"),
		Renewed:     ends.Draw(t, "renewed"),
		Renewals:    rapid.Int32().Draw(t, "renewals"),
		MaxRenewals: rapid.Int32().Draw(t, "max"),
		Metadata:    anyPairs(t, "metadata"),
		Handed:      rapid.Bool().Draw(t, "handed"),
		Scoped:      rapid.Bool().Draw(t, "scoped"),
		Claims:      anyClaims.Draw(t, "claims"),
		Notes:       anyNotes.Draw(t, "notes"),
	}
	if rapid.Bool().Draw(t, "changed") {
		row.Former = anyID(t, "former")
	}
	return row
}

// TestRowsAreKept writes any rows, some of them over others, and reads exactly
// the last of each back, in byte order.
func TestRowsAreKept(t *testing.T) {
	t.Parallel()
	j := newJournal(t, Options{Durability: DurabilityNormal})
	rapid.Check(t, func(t *rapid.T) {
		clearRows(t, j)
		want := map[string]machine.Row{}
		b := &local.Batch{Counters: anyCounters(t)}
		for range 2 {
			b.Rows = nil
			for _, row := range anyRows.Draw(t, "rows") {
				gone := rapid.IntRange(0, 9).Draw(t, "gone") == 0
				b.Rows = append(b.Rows, local.RowChange{Row: row, Gone: gone})
				want[row.Resource] = row
				if gone {
					delete(want, row.Resource)
				}
			}
			if err := j.Commit(b); err != nil {
				t.Fatalf("Commit() = %v", err)
			}
		}
		got, state := loadRows(t, j)
		if diff := cmp.Diff(b.Counters, state.Counters); diff != "" {
			t.Fatalf("Load() counters (-want +got):\n%s", diff)
		}
		rows := slices.SortedFunc(maps.Values(want), func(a, b machine.Row) int { return strings.Compare(a.Resource, b.Resource) })
		if diff := cmp.Diff(rows, got, sameRows); diff != "" {
			t.Fatalf("Load() rows (-want +got):\n%s", diff)
		}
	})
}

// anyRows have few names, so that they often meet.
var anyRows = rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) machine.Row {
	row := anyRow(t)
	if rapid.Bool().Draw(t, "known") {
		row.Resource = rapid.SampledFrom([]string{"a", "b", "'; DROP TABLE leases; --"}).Draw(t, "name")
	}
	return row
}), 0, 5, func(r machine.Row) string { return r.Resource })

func anyCounters(t *rapid.T) local.Counters {
	return local.Counters{
		Commit: rapid.Uint64Max(math.MaxInt64).Draw(t, "commit"),
		Clock:  machine.Time(rapid.Int64().Draw(t, "clock")),
		Token:  rapid.Uint64Max(leasehold.MaxToken).Draw(t, "last token"),
		Seq:    rapid.Uint64Max(math.MaxInt64).Draw(t, "seq"),
		Kept:   rapid.Int64().Draw(t, "kept"),
		Reading: local.Reading{
			BootID:        rapid.String().Draw(t, "boot id"),
			TimeNamespace: rapid.String().Draw(t, "time namespace"),
			Boot:          time.Duration(rapid.Int64().Draw(t, "boot clock")),
			Wall:          rapid.Int64().Draw(t, "wall clock"),
		},
	}
}

func loadRows(t *rapid.T, j *journal) (rows []machine.Row, state local.JournalState) {
	state, err := j.Load(context.Background(), func(r machine.Row) error { rows = append(rows, r); return nil })
	if err != nil {
		t.Fatalf("Load() = %v", err)
	}
	return rows, state
}

// clearRows deletes what the check before it left.
func clearRows(t *rapid.T, j *journal) {
	rows, _ := loadRows(t, j)
	b := &local.Batch{}
	for _, r := range rows {
		b.Rows = append(b.Rows, local.RowChange{Row: r, Gone: true})
	}
	if err := j.Commit(b); err != nil {
		t.Fatalf("Commit() = %v", err)
	}
}

func TestEmptyIsNone(t *testing.T) {
	j := newJournal(t, Options{})
	mustCommit(t, j, &local.Batch{Rows: []local.RowChange{{Row: machine.Row{
		Resource: "r", Metadata: map[string]string{}, Claims: []leasehold.Claim{}, Notes: []leasehold.Note{}, TTL: leasehold.Infinite, Ends: machine.Never,
	}}}})
	rows, _ := mustLoad(t, j)
	want := []machine.Row{{Resource: "r", TTL: leasehold.Infinite, Ends: machine.Never}}
	if diff := cmp.Diff(want, rows, sameRows); diff != "" {
		t.Errorf("Load() (-want +got):\n%s", diff)
	}
}

// TestPlainRowsAllocateNothing when they are written: most rows have neither claims nor
// notes, and each commit writes many.
func TestPlainRowsAllocateNothing(t *testing.T) {
	j := newJournal(t, Options{Durability: DurabilityNormal})
	b := &local.Batch{}
	for range 64 {
		b.Rows = append(b.Rows, local.RowChange{Row: machine.Row{
			Resource: strconv.Itoa(len(b.Rows)), Holder: "h", State: leasehold.StateActive, TTL: time.Minute, Ends: machine.Never,
		}})
	}
	if n := testing.AllocsPerRun(100, func() { b.Commit++; mustCommit(t, j, b) }); n >= 1 {
		t.Errorf("a commit of 64 plain rows allocates %v times, want never", n)
	}
}

func TestSettingsAreKept(t *testing.T) {
	j := newJournal(t, Options{})
	set := func(key string, value any) leasehold.Setting {
		for _, s := range leasehold.DefaultSettings() {
			if s.Key == key {
				s.Value = value
				return s
			}
		}
		t.Fatalf("no setting %q", key)
		return leasehold.Setting{}
	}
	mustCommit(t, j, &local.Batch{Settings: []leasehold.Setting{
		set(leasehold.SettingDefaultTTL, int64(7)), set(leasehold.SettingBlocking, true),
	}})
	mustCommit(t, j, &local.Batch{Settings: []leasehold.Setting{set(leasehold.SettingBlocking, false)}})
	_, state := mustLoad(t, j)
	want := map[string]any{leasehold.SettingDefaultTTL: int64(7), leasehold.SettingBlocking: false}
	if diff := cmp.Diff(want, state.Settings); diff != "" {
		t.Errorf("Load() settings (-want +got):\n%s", diff)
	}
}

// TestFailedCommit: after a failure nothing works until Load, which finds
// nothing of the failed batch.
func TestFailedCommit(t *testing.T) {
	j := newJournal(t, Options{})
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 1, Seq: 1}, Records: []leasehold.Record{{Seq: 1}}})
	bad := &local.Batch{
		Counters: local.Counters{Commit: 2, Seq: 2},
		Rows:     []local.RowChange{{Row: machine.Row{Resource: "r"}}},
		Records:  []leasehold.Record{{Seq: 2}, {Seq: 1}}, // the second is there already
	}
	if err := j.Commit(bad); err == nil {
		t.Fatal("Commit() of a record that exists = nil, want an error")
	}
	if err := j.Commit(&local.Batch{Counters: local.Counters{Commit: 3}}); err == nil {
		t.Error("Commit() after a failure = nil, want an error")
	}
	rows, state := mustLoad(t, j)
	if len(rows) != 0 || state.Commit != 1 {
		t.Errorf("Load() = %d rows at commit %d, want none at commit 1", len(rows), state.Commit)
	}
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 3}})
}

func TestUseBeforeLoadAndAfterClose(t *testing.T) {
	j := newJournal(t, Options{})
	if err := j.Close(); err != nil {
		t.Fatalf("Close() = %v", err)
	}
	if err := j.Commit(&local.Batch{}); err == nil {
		t.Error("Commit() after Close = nil, want an error")
	}
	if _, err := j.History(t.Context(), local.HistoryQuery{Limit: 1}); err == nil {
		t.Error("History() after Close = nil, want an error")
	}
	if err := j.Close(); err != nil {
		t.Errorf("second Close() = %v", err)
	}
}

// TestLoadStops: an error of the callback and the end of the context both end a
// load, and the next one works.
func TestLoadStops(t *testing.T) {
	j := newJournal(t, Options{})
	mustCommit(t, j, &local.Batch{Rows: []local.RowChange{{Row: machine.Row{Resource: "r"}}}})
	if _, err := j.Load(t.Context(), func(machine.Row) error { return dbfile.ErrMalformed }); err == nil {
		t.Error("Load() with a failing callback = nil, want an error")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := j.Load(ctx, func(machine.Row) error { return nil }); err == nil {
		t.Error("Load() with an ended context = nil, want an error")
	}
	if rows, _ := mustLoad(t, j); len(rows) != 1 {
		t.Errorf("Load() = %d rows, want 1", len(rows))
	}
}

// rowOf makes a plain row.
func rowOf(i int) machine.Row {
	return machine.Row{
		Resource: "r" + strconv.Itoa(i), Holder: "h", ID: leasehold.NewID(), Token: uint64(i + 1),
		State: leasehold.StateActive, TTL: time.Hour, Ends: machine.Time(time.Hour), MaxRenewals: leasehold.Unlimited,
	}
}

// TestEncodePairs: the short way to write a pair writes what encoding/json does.
func TestEncodePairs(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[ -~]{0,12}`))
	rapid.Check(t, func(t *rapid.T) {
		pairs := rapid.MapOfN(text, text, 1, 3).Draw(t, "pairs")
		var b bytes.Buffer
		long := json.NewEncoder(&b)
		long.SetEscapeHTML(false)
		if err := long.Encode(pairs); err != nil {
			t.Fatal(err)
		}
		want := strings.TrimSuffix(b.String(), "\n")
		if got := dbfile.EncodePairs(pairs); got != want {
			t.Fatalf("encodePairs(%q) = %s, want %s", pairs, got, want)
		}
	})
}
