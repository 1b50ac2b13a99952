package catalog

import (
	"cmp"
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// PageSize is what page blobs are counted in.
const PageSize = 512

// PutPages writes n bytes of a page blob from offset on, or clears them if
// there is no upload. The upload is the catalog's from now on.
func (c *Catalog) PutPages(ctx context.Context, ref Ref, offset, n int64, u *Upload, a Access) (_ *Item, err error) {
	defer func() { u.finish(err) }()
	if u != nil {
		if err := c.checkSpace(); err != nil {
			return nil, err
		}
	}
	if err := checkWritable(ref); err != nil {
		return nil, err
	}
	b, err := c.lockExisting(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	changed := *b.item
	p := pageChange{from: offset, to: offset + n, upload: u}
	if err := b.commitPages(ctx, a, &changed, p, checkPages(b.item, offset, n, u)); err != nil {
		return nil, err
	}
	return &changed, nil
}

// checkPages refuses what cannot be written.
func checkPages(i *Item, offset, n int64, u *Upload) error {
	switch {
	case i.Kind != Page:
		return azerr.New(azerr.InvalidBlobType).With("only page blobs have pages")
	case offset < 0 || n <= 0 || offset%PageSize != 0 || n%PageSize != 0 || offset > i.Size || n > i.Size-offset:
		return azerr.New(azerr.InvalidPageRange)
	case u == nil:
		return nil
	case u.failed != nil:
		return u.failed
	case u.Size != n:
		return azerr.New(azerr.InvalidHeaderValue).With("the body has %d bytes, and the range %d", u.Size, n)
	}
	return nil
}

// Resize changes the size of a page blob. What is cut off is gone; what is
// added is zeros.
func (c *Catalog) Resize(ctx context.Context, ref Ref, size int64, a Access) (*Item, error) {
	if err := checkWritable(ref); err != nil {
		return nil, err
	}
	b, err := c.lockExisting(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	changed := *b.item
	changed.Size = size
	p := pageChange{from: size, to: max(size, b.item.Size)}
	if err := b.commitPages(ctx, a, &changed, p, checkResize(b.item, size)); err != nil {
		return nil, err
	}
	return &changed, nil
}

// checkResize refuses a size that the blob cannot have.
func checkResize(i *Item, size int64) error {
	switch {
	case i.Kind != Page:
		return azerr.New(azerr.InvalidBlobType).With("only page blobs can be resized")
	case size < 0 || size > MaxPageBlob || size%PageSize != 0:
		return azerr.New(azerr.InvalidHeaderValue).With("the size of a page blob must be a multiple of %d, up to 8 TiB", PageSize)
	}
	return nil
}

// commitPages commits a change of a page blob. Problem is why it
// cannot be made, beside the conditions.
func (b *blob) commitPages(ctx context.Context, a Access, changed *Item, p pageChange, problem error) error {
	changed.Ticks = b.now()
	var rows []engine.Statement
	if problem == nil {
		var err error
		if rows, err = b.changePages(ctx, changed, p); err != nil {
			return err
		}
		problem = a.If.checkSequence(b.item.Sequence)
	}
	rows = append(rows, changed.put(b.container.id))
	return b.commit(ctx, b.change(a, cmp.Or(b.check(a.If), problem), rows...))
}

// pageChange is a run of bytes, from before to, that gets new content, or none.
type pageChange struct {
	from, to int64
	upload   *Upload // nil: it is cleared
}

// changePages returns the rows that give the run new content. Changed gets
// the manifest that has it then.
func (b *blob) changePages(ctx context.Context, changed *Item, p pageChange) ([]engine.Statement, error) {
	if p.from >= p.to || p.upload == nil && changed.manifest == 0 {
		return nil, nil
	}
	left, right, err := b.edges(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.upload == nil && right == nil {
		// A number is in use only as long as a piece has it.
		outside, err := b.piecesOutside(ctx, p)
		if err != nil {
			return nil, err
		}
		if !outside {
			changed.manifest = 0
			return b.item.drop(b.container.id), nil
		}
	}
	rows, err := b.ownPages(ctx, changed)
	if err != nil {
		return nil, err
	}
	return append(rows, p.cut(changed.manifest, left, right)...), nil
}

// ownPages makes sure that only the base has the manifest: no snapshot does, and
// nobody reads it. Otherwise the base gets pieces of its own.
func (b *blob) ownPages(ctx context.Context, changed *Item) ([]engine.Statement, error) {
	if changed.manifest == 0 {
		changed.manifest = b.nextManifest()
		return nil, nil
	}
	shared, err := b.sharesManifest(ctx)
	if err != nil || !shared && !b.pins.pinned(changed.manifest) {
		return nil, err
	}
	changed.manifest = b.nextManifest()
	return append(b.item.share(changed.manifest, false), b.item.drop(b.container.id)...), nil
}

// sharesManifest reports whether a snapshot has the base's manifest. If any one
// does, the latest does.
func (b *blob) sharesManifest(ctx context.Context) (bool, error) {
	var latest int64
	_, err := b.queryOne(ctx, sqlLatestManifest, []any{b.container.id, b.ref.Blob, int64(Base)}, func(r engine.Columns) { latest = r.Int64(0) })
	return latest == b.item.manifest, err
}

// edges returns the pieces across the start and across the end of the run; nil:
// none is. They may be the same.
func (b *blob) edges(ctx context.Context, p pageChange) (left, right *piece, err error) {
	if left, err = b.pieceAcross(ctx, p.from); err == nil {
		right, err = b.pieceAcross(ctx, p.to)
	}
	return left, right, err
}

// pieceAcross returns the piece that has bytes both before and after a place.
func (b *blob) pieceAcross(ctx context.Context, at int64) (*piece, error) {
	var found *piece
	_, err := b.queryOne(ctx, sqlPieceAcross, []any{b.item.manifest, at}, func(r engine.Columns) {
		if p := scanPiece(r); p.start+p.size > at {
			found = &p
		}
	})
	return found, err
}

func scanPiece(r engine.Columns) piece {
	return piece{start: r.Int64(0), size: r.Int64(1), chunk: r.Int64(2), at: r.Int64(3)}
}

// piecesOutside reports whether a piece begins outside of the run.
func (b *blob) piecesOutside(ctx context.Context, p pageChange) (bool, error) {
	return b.queryOne(ctx, sqlPiecesOutside, []any{b.item.manifest, p.from, p.to}, func(engine.Columns) {})
}

// cut replaces the run in a manifest by the new content. What the two
// edges have outside of the run stays.
func (p pageChange) cut(manifest int64, left, right *piece) []engine.Statement {
	var rows []engine.Statement
	if right != nil {
		past := p.to - right.start
		rest := piece{start: p.to, size: right.size - past, chunk: right.chunk, at: right.at + past}
		rows = append(rows, addPiece(manifest, rest))
		rows = append(rows, changeRefs(map[int64]int64{right.chunk: 1})...)
	}
	if left != nil {
		rows = append(rows, statement(sqlShortenPiece,
			p.from-left.start, manifest, left.start))
	}
	rows = append(rows,
		statement(sqlUnrefPageRange, manifest, p.from, p.to),
		statement(sqlDeletePageRange, manifest, p.from, p.to))
	if p.upload != nil {
		added := piece{start: p.from, size: p.to - p.from, chunk: p.upload.chunk.ID}
		rows = append(rows, p.upload.addChunk(), addPiece(manifest, added))
	}
	return rows
}

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
	b, err := c.readBlob(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	defer b.unlock()
	item, err := b.readItem(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if item.Kind != Page {
		return nil, nil, azerr.New(azerr.InvalidBlobType).With("only page blobs have pages")
	}
	before, err := c.previous(ctx, b.container, ref, since)
	if err != nil {
		return nil, nil, err
	}
	ranges, err := c.compare(ctx, item, before, item.window(from, to))
	if err != nil {
		return nil, nil, err
	}
	return item, ranges, nil
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
	before, err := c.loadItem(ctx, container, ref)
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
	var found []piece
	err := c.engine.Query(ctx, sqlPiecesInRange, []any{i.manifest, window.Start, min(window.End, i.Size)}, func(r engine.Columns) error {
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

// difference grows from left to right.
type difference struct {
	at     int64
	ranges []PageRange
}

// step compares the two runs at the place, as far as both reach.
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
