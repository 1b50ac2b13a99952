package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/engine"
	"pgregory.net/rapid"
)

// listModel is what a container should list, by sorting a map.
type listModel map[string]*listed

type listed struct {
	committed, staged bool
	snapshots         []catalog.Snapshot // oldest first
}

func (m listModel) at(name string) *listed {
	if m[name] == nil {
		m[name] = new(listed)
	}
	return m[name]
}

func (l *listed) entries(name string, r catalog.ListRequest) []string {
	var snapshots, base []string
	if r.Snapshots {
		for _, s := range l.snapshots {
			snapshots = append(snapshots, name+"@"+s.String())
		}
	}
	if l.committed || l.staged && r.Uncommitted {
		base = []string{name}
	}
	if r.BaseFirst {
		return append(base, snapshots...)
	}
	return append(snapshots, base...)
}

func (m listModel) list(r catalog.ListRequest) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	var all []string
	for _, name := range names {
		entries := m[name].entries(name, r)
		rest, ok := strings.CutPrefix(name, r.Prefix)
		if !ok || len(entries) == 0 {
			continue
		}
		if before, _, found := strings.Cut(rest, r.Delimiter); r.Delimiter != "" && found {
			entries = []string{r.Prefix + before + r.Delimiter + "*"}
		}
		all = append(all, entries...)
	}
	return slices.Compact(all)
}

func TestListAgreesWithASortedMap(t *testing.T) {
	h := newHarness(t)
	round := 0
	names := rapid.StringMatching(`[ab/é~]{1,5}`)
	rapid.Check(t, func(rt *rapid.T) {
		round++
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("model-%d", round)}
		h.container(ref)
		m := listModel{}
		for range rapid.IntRange(1, 20).Draw(rt, "steps") {
			name := names.Draw(rt, "name")
			l := m.at(name)
			switch what := rapid.IntRange(0, 9).Draw(rt, "what"); {
			case what < 4:
				h.put(ref, name, name)
				l.committed, l.staged = true, false
			case what < 5 && !l.committed:
				h.stage(ref, name)
				l.staged = true
			case what < 8 && l.committed:
				l.snapshots = append(l.snapshots, h.snapshot(ref, name))
			case what < 9 && l.committed:
				h.remove(ref, name, catalog.DeleteBaseOnly)
				l.committed = false
			}
		}
		for range 5 {
			r := catalog.ListRequest{
				Prefix:    rapid.StringMatching(`[ab/é~]{0,2}`).Draw(rt, "prefix"),
				Delimiter: rapid.SampledFrom([]string{"", "/", "a", "//", "é", "ab"}).Draw(rt, "delimiter"),
				Max:       rapid.IntRange(1, 6).Draw(rt, "max"),
				Snapshots: rapid.Bool().Draw(rt, "snapshots"), Uncommitted: rapid.Bool().Draw(rt, "uncommitted"), BaseFirst: rapid.Bool().Draw(rt, "base first"),
			}
			if diff := cmp.Diff(m.list(r), h.list(ref, r)); diff != "" {
				rt.Fatalf("List(%+v) (-want +got):\n%s", r, diff)
			}
		}
	})
}

// counted is an engine that counts the rows that are read from it.
type counted struct {
	engine.Engine
	rows, queries atomic.Int64
}

func (e *counted) Query(ctx context.Context, sql string, args []any, row func(engine.Columns) error) error {
	e.queries.Add(1)
	return e.Engine.Query(ctx, sql, args, func(r engine.Columns) error {
		e.rows.Add(1)
		return row(r)
	})
}

// A page costs what is on it, wherever it is and whatever it passes over.
func TestListReadsNoMoreThanItShows(t *testing.T) {
	h := newHarness(t)
	flat := catalog.Ref{Account: "acct", Container: "flat"}
	folded := catalog.Ref{Account: "acct", Container: "folded"}
	h.fill(flat, "blob-%06d", 5000)
	for _, d := range []string{"a/", "b/", "c/", "d/"} {
		h.fill(folded, d+"%06d", 1500)
	}
	h.put(folded, "many", "")
	h.copies(folded, "many", 1500)
	engine := &counted{Engine: h.store}
	c, err := catalog.Open(t.Context(), engine, h.bytes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil { // only the collector: it must not be counted
		t.Fatal(err)
	}
	if _, err := c.Container(t.Context(), flat, catalog.Access{}); err != nil { // is remembered from here on
		t.Fatal(err)
	}
	for r, page := (catalog.ListRequest{Max: 100}), 0; ; page++ {
		rows, queries := engine.rows.Load(), engine.queries.Load()
		p, err := c.List(t.Context(), flat, r)
		if err != nil {
			t.Fatal(err)
		}
		rows, queries = engine.rows.Load()-rows, engine.queries.Load()-queries
		if rows > 101 || queries != 1 {
			t.Fatalf("page %d read %d rows with %d queries, want at most 101 with one", page, rows, queries)
		}
		if r.Marker = p.Next; r.Marker == "" {
			break
		}
	}
	before := engine.rows.Load()
	p, err := c.List(t.Context(), folded, catalog.ListRequest{Delimiter: "/"})
	if err != nil || len(p.Entries) != 5 {
		t.Fatalf("List = %d entries, %v, want 5", len(p.Entries), err)
	}
	if rows := engine.rows.Load() - before; rows > 300 {
		t.Errorf("5 entries that stand for 7,500 rows took %d rows, want at most 300", rows)
	}
}

// sql runs a statement on the catalog's tables, for rows that would take too
// long to make one by one.
func (h *harness) sql(text string, args ...any) {
	h.t.Helper()
	err := h.store.Do(h.t.Context(), "blob:rows", func(engine.View) (engine.Decision, error) {
		return engine.Decision{Extras: []engine.Statement{{SQL: text, Args: args}}}, nil
	})
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
}

func (h *harness) containerID(ref catalog.Ref) (id int64) {
	h.t.Helper()
	const text = `SELECT id FROM blob_containers WHERE account = ? AND name = ?`
	err := h.store.Query(h.t.Context(), text, []any{ref.Account, ref.Container}, func(r engine.Columns) error {
		id = r.Int64(0)
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return id
}

// fill makes n empty blobs, and the container if there is none.
func (h *harness) fill(ref catalog.Ref, format string, n int) {
	h.t.Helper()
	if h.containerID(ref) == 0 {
		h.container(ref)
	}
	h.sql(`INSERT INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, details)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT ?, printf(?, i), 9223372036854775807, 1, 1, 638000000000000000 + i, 638000000000000000, 0, 0, '{"type":"text/plain"}' FROM n`,
		int64(n), h.containerID(ref), format)
}

// copies makes n snapshots of an empty blob.
func (h *harness) copies(ref catalog.Ref, name string, n int) {
	h.t.Helper()
	h.sql(`INSERT INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, details)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT ?, ?, 638000000000000000 + i, 1, 1, 638000000000000000, 638000000000000000, 0, 0, '{}' FROM n`,
		int64(n), h.containerID(ref), name)
}

// BenchmarkListPage lists a page of 1,000 at the beginning, in the middle and at
// the end of many blobs: it should cost the same everywhere.
func BenchmarkListPage(b *testing.B) {
	h := newHarness(b)
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("n%d", n)}
		h.fill(ref, "blob-%07d", n)
		for _, at := range []int{0, n / 2, n - 1001} {
			marker := markerAt(h, ref, at)
			b.Run(fmt.Sprintf("of=%d/from=%d", n, at), func(b *testing.B) {
				for b.Loop() {
					page, err := h.List(b.Context(), ref, catalog.ListRequest{Marker: marker, Max: 1000})
					if err != nil || len(page.Entries) != 1000 {
						b.Fatalf("List = %d entries, %v", len(page.Entries), err)
					}
				}
			})
		}
	}
}

// markerAt returns a marker after about that many blobs, without paging there.
func markerAt(h *harness, ref catalog.Ref, n int) string {
	page, err := h.List(h.t.Context(), ref, catalog.ListRequest{Prefix: fmt.Sprintf("blob-%07d", n)[:len("blob-")+6], Max: 1})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Next
}

// BenchmarkListFolded lists ten prefixes that stand for a hundred, or for a
// hundred thousand blobs each.
func BenchmarkListFolded(b *testing.B) {
	h := newHarness(b)
	for _, n := range []int{100, 100_000} {
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("f%d", n)}
		for d := range 10 {
			h.fill(ref, fmt.Sprintf("d%d/", d)+"%07d", n)
		}
		b.Run(fmt.Sprintf("each=%d", n), func(b *testing.B) {
			for b.Loop() {
				page, err := h.List(b.Context(), ref, catalog.ListRequest{Delimiter: "/"})
				if err != nil || len(page.Entries) != 10 {
					b.Fatalf("List = %d entries, %v", len(page.Entries), err)
				}
			}
		})
	}
}

// BenchmarkListAll pages through everything.
func BenchmarkListAll(b *testing.B) {
	h := newHarness(b)
	for _, n := range []int{10_000, 100_000} {
		ref := catalog.Ref{Account: "acct", Container: fmt.Sprintf("n%d", n)}
		h.fill(ref, "blob-%07d", n)
		b.Run(fmt.Sprintf("of=%d", n), func(b *testing.B) {
			for b.Loop() {
				if got := len(h.list(ref, catalog.ListRequest{Max: 5000})); got != n {
					b.Fatalf("%d blobs, want %d", got, n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/blob")
		})
	}
}
