package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// PageRange is a run of bytes of a page blob, from Start to before End.
type PageRange struct {
	Start, End int64
	Clear      bool // the snapshot that was compared with has pages here, and the blob has none
}

// Pages returns the page ranges of a page blob, or of a snapshot of one, that
// have bytes between from and before to; whatever is beyond the end, or not
// above zero, stands for the end. Since is none for all pages, or a snapshot for
// those that have changed after it.
//
// Whole pages are returned. Ranges that touch are one; nothing is said of how
// they were written.
func (c *Catalog) Pages(ctx context.Context, ref Ref, from, to int64, since Snapshot, a Access) (*Item, []PageRange, error) {
	var item Item
	var ranges []PageRange
	err := c.shared(ctx, ref, func(s subject) error {
		item = *s.item
		if err := c.admit(ctx, ref, a, &item); err != nil {
			return err
		}
		if item.Kind != Page {
			return azerr.New(azerr.InvalidBlobType).With("only page blobs have pages")
		}
		before, err := c.previous(ctx, s.container, ref, since)
		if err != nil {
			return err
		}
		ranges, err = c.compare(ctx, &item, before, item.window(from, to))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return &item, ranges, nil
}

// window is the whole pages of the blob that have bytes between from and to.
func (i *Item) window(from, to int64) PageRange {
	if to <= 0 || to > i.Size {
		to = i.Size
	}
	from = max(from, 0) / PageSize * PageSize
	to = (to + PageSize - 1) / PageSize * PageSize
	return PageRange{Start: min(from, to), End: to}
}

// previous returns the snapshot to compare with; none stands for a blob of no
// pages.
func (c *Catalog) previous(ctx context.Context, container *Container, ref Ref, since Snapshot) (*Item, error) {
	if since == (Snapshot{}) {
		return new(Item), nil
	}
	if since.Ticks() > ref.Snapshot.Ticks() {
		return nil, azerr.New(azerr.PreviousSnapshotCannotBeNewer)
	}
	ref.Snapshot = since
	before, err := c.item(ctx, container, ref)
	switch {
	case err != nil:
		return nil, err
	case before == nil:
		return nil, azerr.New(azerr.PreviousSnapshotNotFound)
	case before.Kind != Page:
		return nil, azerr.New(azerr.BlobOverwritten)
	}
	return before, nil
}

// compare returns how item differs from before within a window.
func (c *Catalog) compare(ctx context.Context, item, before *Item, window PageRange) ([]PageRange, error) {
	now, err := c.pieces(ctx, item, window)
	if err != nil {
		return nil, err
	}
	then, err := c.pieces(ctx, before, window)
	if err != nil {
		return nil, err
	}
	d := difference{at: window.Start}
	for d.at < window.End {
		now, then = pastEnd(now, d.at), pastEnd(then, d.at)
		d.step(at(now, d.at, window.End), at(then, d.at, window.End))
	}
	return d.ranges, nil
}

// pieces returns the item's pieces that have bytes in the window.
func (c *Catalog) pieces(ctx context.Context, i *Item, window PageRange) ([]piece, error) {
	const sql = `SELECT start, min(size, ?3 - start), chunk, at FROM blob_pieces WHERE manifest = ?1 AND start < ?3
		AND start >= coalesce((SELECT max(start) FROM blob_pieces WHERE manifest = ?1 AND start <= ?2), ?2) ORDER BY start`
	var found []piece
	err := c.engine.Query(ctx, sql, []any{i.manifest, window.Start, min(window.End, i.Size)}, func(r engine.Columns) error {
		found = append(found, scanPiece(r))
		return nil
	})
	return found, err
}

// pastEnd drops pieces that end at a place or before it.
func pastEnd(pieces []piece, place int64) []piece {
	for len(pieces) > 0 && pieces[0].start+pieces[0].size <= place {
		pieces = pieces[1:]
	}
	return pieces
}

// run is what is at a place: a piece or a gap, up to before end.
type run struct {
	end       int64
	chunk, at int64 // zero: a gap
}

// at returns what the pieces have at a place.
func at(pieces []piece, place, end int64) run {
	if len(pieces) == 0 {
		return run{end: end}
	}
	p := pieces[0]
	if p.start > place {
		return run{end: min(p.start, end)}
	}
	return run{end: min(p.start+p.size, end), chunk: p.chunk, at: p.at + place - p.start}
}

// difference is put together from left to right.
type difference struct {
	at     int64
	ranges []PageRange
}

// step compares what is here, as far as it is the same thing on both sides.
func (d *difference) step(now, then run) {
	end := min(now.end, then.end)
	same := now.chunk == then.chunk && now.at == then.at
	if !same {
		d.add(PageRange{Start: d.at, End: end, Clear: now.chunk == 0})
	}
	d.at = end
}

// add puts a range after the others, or makes the last one longer.
func (d *difference) add(r PageRange) {
	if n := len(d.ranges); n > 0 && d.ranges[n-1].End == r.Start && d.ranges[n-1].Clear == r.Clear {
		d.ranges[n-1].End = r.End
		return
	}
	d.ranges = append(d.ranges, r)
}
