package catalog

import (
	"context"
	"encoding/json"

	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
)

// piece is a part of an item's content.
type piece struct {
	start, size int64 // where in the blob
	chunk, at   int64 // where its bytes are
	block       string
}

// insertPieces writes the pieces of a new manifest. However many they are, it
// is one statement.
func insertPieces(manifest int64, pieces []piece) []engine.Statement {
	switch len(pieces) {
	case 0:
		return nil
	case 1:
		return []engine.Statement{insertPiece(manifest, pieces[0])}
	}
	rows := make([][5]any, len(pieces))
	for i, p := range pieces {
		rows[i] = [5]any{p.start, p.size, p.chunk, p.at, nil}
		if p.block != "" {
			rows[i][4] = p.block
		}
	}
	const sql = `INSERT INTO blob_pieces (manifest, start, size, chunk, at, block)
		SELECT ?, value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each(?)`
	return []engine.Statement{do(sql, manifest, encodeText(rows))}
}

// insertPiece is insertPieces for the most frequent case.
func insertPiece(manifest int64, p piece) engine.Statement {
	var block any
	if p.block != "" {
		block = p.block
	}
	return do(`INSERT INTO blob_pieces (manifest, start, size, chunk, at, block) VALUES (?, ?, ?, ?, ?, ?)`,
		manifest, p.start, p.size, p.chunk, p.at, block)
}

// countRefs changes the number of references to chunks by so much each.
func countRefs(change map[int64]int64) []engine.Statement {
	var rows [][2]int64
	for chunk, n := range change {
		if n != 0 {
			rows = append(rows, [2]int64{chunk, n})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	const sql = `UPDATE blob_chunks SET refs = refs + change.n
		FROM (SELECT value ->> 0 AS chunk, value ->> 1 AS n FROM json_each(?)) AS change WHERE id = change.chunk`
	return []engine.Statement{do(sql, encodeText(rows))}
}

// dropBlocks deletes the uncommitted blocks of a blob.
func dropBlocks(container int64, name string) []engine.Statement {
	return []engine.Statement{
		do(`UPDATE blob_chunks SET refs = refs - gone.n
			FROM (SELECT chunk, count(*) AS n FROM blob_blocks WHERE container = ? AND name = ? GROUP BY chunk) AS gone
			WHERE id = gone.chunk`, container, name),
		do(`DELETE FROM blob_blocks WHERE container = ? AND name = ?`, container, name),
	}
}

// dropBlocks lets go of the blob's uncommitted blocks, if there are any.
func (e *edit) dropBlocks() []engine.Statement {
	if e.item == nil || !e.item.staged { // staging the first one makes an item
		return nil
	}
	return dropBlocks(e.container.id, e.ref.Blob)
}

// stretch is a piece with its chunk.
type stretch struct {
	piece
	content.Chunk
}

// stretches returns up to limit pieces of a manifest that have bytes between
// from and before to, in order.
func (c *Catalog) stretches(ctx context.Context, manifest, from, to int64, limit int) ([]stretch, error) {
	if manifest == 0 {
		return nil, nil
	}
	const sql = `SELECT p.start, p.size, p.chunk, p.at, c.size, c.crc, c.data
		FROM blob_pieces p JOIN blob_chunks c ON c.id = p.chunk
		WHERE p.manifest = ?1 AND p.start < ?3
			AND p.start >= coalesce((SELECT max(start) FROM blob_pieces WHERE manifest = ?1 AND start <= ?2), ?2)
		ORDER BY p.start LIMIT ?4 + 0`
	var found []stretch
	err := c.engine.Query(ctx, sql, []any{manifest, from, to, int64(limit)}, func(r engine.Columns) error {
		s := stretch{
			piece: piece{start: r.Int64(0), size: r.Int64(1), chunk: r.Int64(2), at: r.Int64(3)},
			Chunk: content.Chunk{ID: r.Int64(2), Size: r.Int64(4), CRC: uint64(r.Int64(5))},
		}
		if !r.IsNull(6) {
			s.Inline = r.Bytes(6)
		}
		found = append(found, s)
		return nil
	})
	return found, err
}

// encodeText is encode for SQLite's JSON functions, which take text.
func encodeText(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return string(b)
}
