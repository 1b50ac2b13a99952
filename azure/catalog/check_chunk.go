package catalog

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
)

// chunkRead is how many chunks are looked up at once; small ones come with their
// bytes, so it bounds memory too.
const chunkRead = 32

// checkChunks reads every chunk.
func (k *check) checkChunks(ctx context.Context) error {
	for last := int64(-1); ; {
		var chunks []content.Chunk
		const sql = `SELECT id, size, crc, data FROM blob_chunks WHERE id > ? AND refs > 0 ORDER BY id LIMIT ? + 0`
		err := k.engine.Query(ctx, sql, []any{last, int64(chunkRead)}, func(r engine.Columns) error {
			chunk := content.Chunk{ID: r.Int64(0), Size: r.Int64(1), CRC: uint64(r.Int64(2))}
			if !r.IsNull(3) {
				chunk.Inline = r.Bytes(3)
			}
			chunks = append(chunks, chunk)
			return nil
		})
		if err != nil || len(chunks) == 0 {
			return err
		}
		for _, chunk := range chunks {
			if err := k.checkChunk(ctx, chunk); err != nil {
				return err
			}
		}
		last = chunks[len(chunks)-1].ID
	}
}

func (k *check) checkChunk(ctx context.Context, chunk content.Chunk) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	bad := k.content.Check(chunk)
	if bad == nil {
		return nil
	}
	if !errors.Is(bad, content.ErrDamaged) {
		return bad
	}
	there, err := k.one(ctx, `SELECT 1 FROM blob_chunks WHERE id = ? AND refs > 0`, []any{chunk.ID}, func(engine.Columns) {})
	if err != nil || !there {
		return err // collected meanwhile
	}
	whose, err := k.users(ctx, chunk.ID)
	if err == nil {
		k.note(false, "%v; it belongs to %s", bad, whose)
	}
	return err
}

// maxUsers is how many of those who have a damaged chunk are named.
const maxUsers = 5

// users names items that have a chunk.
func (k *check) users(ctx context.Context, chunk int64) (string, error) {
	const sql = `SELECT DISTINCT c.account, c.name, i.name, i.snapshot
		FROM blob_pieces p JOIN blob_items i ON i.manifest = p.manifest JOIN blob_containers c ON c.id = i.container
		WHERE p.chunk = ? LIMIT ? + 0`
	var names []string
	err := k.engine.Query(ctx, sql, []any{chunk, int64(maxUsers)}, func(r engine.Columns) error {
		ref := Ref{Account: r.Text(0), Container: r.Text(1), Blob: r.Text(2), Snapshot: At(Ticks(r.Int64(3)))}
		name := ref.path()
		if ref.IsSnapshot() {
			name += "?snapshot=" + ref.Snapshot.String()
		}
		names = append(names, name)
		return nil
	})
	if len(names) == 0 {
		names = []string{"no blob, or an uncommitted block"}
	}
	return strings.Join(names, ", "), err
}

// checkFiles looks for files that no row knows.
func (k *check) checkFiles(ctx context.Context) error {
	known := func(ids []int64) (map[int64]bool, error) { return k.knownChunks(ctx, ids) }
	return k.content.Orphans(ctx, known, func(id int64) error {
		if k.goneMeanwhile(id) {
			return nil
		}
		k.note(k.repair, "file %d belongs to no chunk", id)
		if k.repair {
			return k.content.Remove(id)
		}
		return nil
	})
}

// goneMeanwhile reports whether the collector has deleted a file whose row it
// deleted a moment ago.
func (k *check) goneMeanwhile(id int64) bool {
	k.collecting.Lock()
	defer k.collecting.Unlock()
	r, err := k.content.Reader(content.Chunk{ID: id, Size: 1}, 0, 0)
	if err == nil {
		_ = r.Close()
	}
	return errors.Is(err, fs.ErrNotExist)
}
