package catalog_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/engine"
)

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
	h := newHouse(t)
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
