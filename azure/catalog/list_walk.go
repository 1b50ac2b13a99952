package catalog

import (
	"context"
	"errors"
	"strings"

	"github.com/leasehold/leasehold/engine"
)

// walk goes along the rows of a container, in the order of the primary key, and
// puts a page together. It seeks over what the page does not show, so a page
// costs what is on it, however much lies between.
type walk struct {
	ListRequest
	container Ref
	max       int

	at     place    // the last thing looked at
	passed int      // rows in a row that were not shown
	want   string   // BaseFirst: the name whose base must be fetched now
	last   place    // the last thing on the page
	page   ListPage // so far
	full   bool     // there is more than fits on the page
}

// patience is how many rows in a row are passed over before the walk seeks what
// comes after them. A seek costs about as much.
const patience = 48

// walkSQL has no limit: whoever reads it stops it.
const walkSQL = `SELECT ` + itemColumns + ` FROM blob_items
	WHERE container = ? AND (name, snapshot) > (?, ?) AND name < ? AND (committed OR ?) ORDER BY name, snapshot`

// begin finds the place to start from.
func (w *walk) begin() error {
	w.at = place{name: w.Prefix, snapshot: beforeAll}
	if w.Marker == "" {
		return nil
	}
	at, err := readMarker(blobList, w.Marker)
	if err != nil {
		return err
	}
	if at.name >= w.Prefix {
		w.at = at
	}
	return nil
}

// run walks until the page is full or there is nothing more.
func (w *walk) run(ctx context.Context, c *Catalog, container int64) error {
	for !w.full {
		name, snapshot, ok := w.at.seek(w.basesFirst())
		if !ok {
			return nil
		}
		args := []any{container, name, snapshot, bound(w.Prefix), w.Uncommitted}
		err := c.engine.Query(ctx, walkSQL, args, w.row)
		if err == nil || !errors.Is(err, errEnough) {
			return err
		}
		w.passed = 0
		if w.want != "" {
			if err := w.fetchBase(ctx, c, container); err != nil {
				return err
			}
		}
	}
	w.page.Next = w.last.marker(blobList)
	return nil
}

// row takes a row of the walk, and stops it with errEnough.
func (w *walk) row(r engine.Columns) error {
	here := place{name: r.Text(0), snapshot: Ticks(r.Int64(1))}
	hidden := !w.Snapshots && here.snapshot != Base
	prefix := w.folded(here.name)
	shown := w.at == place{name: prefix, prefix: true}
	switch {
	case prefix != "" && (shown || !hidden): // hidden ones alone make no prefix
		return w.fold(prefix)
	case hidden:
		return w.pass(place{name: here.name, snapshot: Base - 1})
	case w.basesFirst() && w.at.within(here.name):
		if here.snapshot == Base {
			return nil // it came first
		}
	case w.basesFirst() && here.snapshot != Base:
		w.want = here.name
		return errEnough
	}
	i, err := scanItem(w.container, r)
	if err != nil {
		return err
	}
	return w.show(here, ListEntry{Item: i})
}

func (w *walk) basesFirst() bool { return w.BaseFirst && w.Snapshots }

// folded returns the prefix that stands for a name; empty: the name stands for
// itself.
func (w *walk) folded(name string) string {
	if w.Delimiter == "" {
		return ""
	}
	n := strings.Index(name[len(w.Prefix):], w.Delimiter)
	if n < 0 {
		return ""
	}
	return name[:len(w.Prefix)+n+len(w.Delimiter)]
}

// fold shows a prefix, once.
func (w *walk) fold(prefix string) error {
	here := place{name: prefix, prefix: true}
	if w.at == here {
		return w.pass(here)
	}
	return w.show(here, ListEntry{Prefix: prefix})
}

// pass goes by a row. Beyond here it could go by more of them, so it loses
// patience at some point and seeks.
func (w *walk) pass(here place) error {
	w.at = here
	if w.passed++; w.passed > patience {
		return errEnough
	}
	return nil
}

// show puts an entry on the page, if there is room.
func (w *walk) show(here place, e ListEntry) error {
	if len(w.page.Entries) == w.max {
		w.full = true
		return errEnough
	}
	w.page.Entries = append(w.page.Entries, e)
	w.at, w.last, w.passed = here, here, 0
	return nil
}

// fetchBase shows the base of the name whose first snapshot was met.
func (w *walk) fetchBase(ctx context.Context, c *Catalog, container int64) error {
	ref := w.container
	ref.Blob, w.want = w.want, ""
	here := place{name: ref.Blob, snapshot: Base}
	i, err := c.item(ctx, &Container{id: container}, ref)
	if err != nil {
		return err
	}
	if i == nil || !i.Committed && !w.Uncommitted {
		w.at = here // there is none to come first
		return nil
	}
	_ = w.show(here, ListEntry{Item: i}) // if there is no room, the walk is over anyhow
	return nil
}
