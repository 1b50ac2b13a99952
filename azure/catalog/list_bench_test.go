package catalog_test

import (
	"fmt"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/engine"
)

// sql runs a statement on the catalog's tables, for rows that would take too
// long to make one by one.
func (h *house) sql(text string, args ...any) {
	h.t.Helper()
	err := h.store.Do(h.t.Context(), "blob:rows", func(engine.View) (engine.Decision, error) {
		return engine.Decision{Extras: []engine.Statement{{SQL: text, Args: args}}}, nil
	})
	if err != nil {
		h.t.Fatalf("%s: %v", text, err)
	}
}

func (h *house) containerID(ref catalog.Ref) (id int64) {
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
func (h *house) fill(ref catalog.Ref, format string, n int) {
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
func (h *house) copies(ref catalog.Ref, name string, n int) {
	h.t.Helper()
	h.sql(`INSERT INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, details)
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
		SELECT ?, ?, 638000000000000000 + i, 1, 1, 638000000000000000, 638000000000000000, 0, 0, '{}' FROM n`,
		int64(n), h.containerID(ref), name)
}

// BenchmarkListPage lists a page of 1,000 at the beginning, in the middle and at
// the end of many blobs: it should cost the same everywhere.
func BenchmarkListPage(b *testing.B) {
	h := newHouse(b)
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
func markerAt(h *house, ref catalog.Ref, n int) string {
	page, err := h.List(h.t.Context(), ref, catalog.ListRequest{Prefix: fmt.Sprintf("blob-%07d", n)[:len("blob-")+6], Max: 1})
	if err != nil {
		h.t.Fatal(err)
	}
	return page.Next
}

// BenchmarkListFolded lists ten prefixes that stand for a hundred, or for a
// hundred thousand blobs each.
func BenchmarkListFolded(b *testing.B) {
	h := newHouse(b)
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
	h := newHouse(b)
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
