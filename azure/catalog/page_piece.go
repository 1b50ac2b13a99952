package catalog

import (
	"context"

	"github.com/leasehold/leasehold/engine"
)

// pageChange is a run of bytes, from before to, that gets new content, or none.
type pageChange struct {
	from, to int64
	upload   *Upload // nil: it is cleared
}

// changePages returns what it takes to give the run new content. Changed gets
// the manifest that has it then.
func (e *edit) changePages(ctx context.Context, changed *Item, p pageChange) ([]engine.Statement, error) {
	if p.from >= p.to || p.upload == nil && changed.manifest == 0 {
		return nil, nil
	}
	left, right, err := e.edges(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.upload == nil && right == nil {
		// A number is in use only as long as a piece has it.
		outside, err := e.piecesOutside(ctx, p)
		if err != nil {
			return nil, err
		}
		if !outside {
			changed.manifest = 0
			return e.item.drop(e.container.id), nil
		}
	}
	statements, err := e.ownPages(ctx, changed)
	if err != nil {
		return nil, err
	}
	return append(statements, p.cut(changed.manifest, left, right)...), nil
}

// ownPages makes sure that only the base has the manifest: no snapshot does, and
// nobody reads it. Otherwise the base gets pieces of its own.
func (e *edit) ownPages(ctx context.Context, changed *Item) ([]engine.Statement, error) {
	if changed.manifest == 0 {
		changed.manifest = e.nextManifest()
		return nil, nil
	}
	shared, err := e.sharesManifest(ctx)
	if err != nil || !shared && !e.pins.pinned(changed.manifest) {
		return nil, err
	}
	changed.manifest = e.nextManifest()
	return append(e.item.share(changed.manifest, false), e.item.drop(e.container.id)...), nil
}

// sharesManifest reports whether a snapshot has the base's manifest. If any one
// does, the latest does.
func (e *edit) sharesManifest(ctx context.Context) (bool, error) {
	const sql = `SELECT manifest FROM blob_items WHERE container = ? AND name = ? AND snapshot < ? ORDER BY snapshot DESC LIMIT 1`
	var latest int64
	_, err := e.one(ctx, sql, []any{e.container.id, e.ref.Blob, int64(Base)}, func(r engine.Columns) { latest = r.Int64(0) })
	return latest == e.item.manifest, err
}

// edges returns the piece that the run begins within, and the one that it ends
// within; nil: there is none. They may be the same.
func (e *edit) edges(ctx context.Context, p pageChange) (left, right *piece, err error) {
	if left, err = e.pieceAcross(ctx, p.from); err == nil {
		right, err = e.pieceAcross(ctx, p.to)
	}
	return left, right, err
}

// pieceAcross returns the piece that has bytes both before and after a place.
func (e *edit) pieceAcross(ctx context.Context, at int64) (*piece, error) {
	const sql = `SELECT start, size, chunk, at FROM blob_pieces WHERE manifest = ? AND start < ? ORDER BY start DESC LIMIT 1`
	var found *piece
	_, err := e.one(ctx, sql, []any{e.item.manifest, at}, func(r engine.Columns) {
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
func (e *edit) piecesOutside(ctx context.Context, p pageChange) (bool, error) {
	const sql = `SELECT 1 WHERE EXISTS (SELECT 1 FROM blob_pieces WHERE manifest = ?1 AND start < ?2)
		OR EXISTS (SELECT 1 FROM blob_pieces WHERE manifest = ?1 AND start >= ?3)`
	return e.one(ctx, sql, []any{e.item.manifest, p.from, p.to}, func(engine.Columns) {})
}

// cut takes the run out of a manifest and puts the new content in. What the two
// edges have outside of the run stays.
func (p pageChange) cut(manifest int64, left, right *piece) []engine.Statement {
	var statements []engine.Statement
	if right != nil {
		past := p.to - right.start
		rest := piece{start: p.to, size: right.size - past, chunk: right.chunk, at: right.at + past}
		statements = append(statements, insertPieces(manifest, []piece{rest})...)
		statements = append(statements, countRefs(map[int64]int64{right.chunk: 1})...)
	}
	if left != nil {
		statements = append(statements, do(`UPDATE blob_pieces SET size = ? WHERE manifest = ? AND start = ?`,
			p.from-left.start, manifest, left.start))
	}
	statements = append(statements,
		do(`UPDATE blob_chunks SET refs = refs - gone.n
			FROM (SELECT chunk, count(*) AS n FROM blob_pieces WHERE manifest = ? AND start >= ? AND start < ? GROUP BY chunk) AS gone
			WHERE id = gone.chunk`, manifest, p.from, p.to),
		do(`DELETE FROM blob_pieces WHERE manifest = ? AND start >= ? AND start < ?`, manifest, p.from, p.to))
	if p.upload != nil {
		added := piece{start: p.from, size: p.to - p.from, chunk: p.upload.chunk.ID}
		statements = append(append(statements, p.upload.keep(1)), insertPieces(manifest, []piece{added})...)
	}
	return statements
}
