package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// itemColumns are read by scanItem, in this order.
const itemColumns = `name, snapshot, kind, committed, ticks, created, size, manifest, expires, details`

// scanItem reads a row of itemColumns.
func scanItem(container Ref, r engine.Columns) (*Item, error) {
	i := &Item{Ref: container.container()}
	i.Blob, i.Snapshot = r.Text(0), At(Ticks(r.Int64(1)))
	i.Kind, i.Committed = Kind(r.Int64(2)), r.Int64(3) != 0
	i.Ticks, i.Created = Ticks(r.Int64(4)), Ticks(r.Int64(5))
	i.Size, i.manifest = r.Int64(6), r.Int64(7)
	if !r.IsNull(8) {
		i.Expires = new(Ticks(r.Int64(8)))
	}
	if err := json.Unmarshal(r.Bytes(9), &i.Details); err != nil {
		return nil, fmt.Errorf("blob %s: %w", i.path(), err)
	}
	return i, nil
}

// item returns the item's row, or nil if there is none; the blob's lock is held.
func (c *Catalog) item(ctx context.Context, container *Container, ref Ref) (*Item, error) {
	var i *Item
	var bad error
	const sql = `SELECT ` + itemColumns + `, EXISTS (SELECT 1 FROM blob_blocks WHERE container = ?1 AND name = ?2)
		FROM blob_items WHERE container = ?1 AND name = ?2 AND snapshot = ?3`
	_, err := c.one(ctx, sql, []any{container.id, ref.Blob, int64(ref.Snapshot.Ticks())}, func(r engine.Columns) {
		if i, bad = scanItem(ref, r); bad == nil {
			i.staged = r.Int64(10) != 0
		}
	})
	return i, errors.Join(err, bad)
}

// put writes the item's row over the one there is.
func (i *Item) put(container int64) engine.Statement {
	const sql = `INSERT OR REPLACE INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, expires, details)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	var expires any
	if i.Expires != nil {
		expires = int64(*i.Expires)
	}
	return do(sql, container, i.Blob, int64(i.Snapshot.Ticks()), int64(i.Kind), i.Committed, int64(i.Ticks), int64(i.Created),
		i.Size, i.manifest, expires, encode(i.Details))
}

// remove deletes the item's row.
func (i *Item) remove(container int64) engine.Statement {
	return do(`DELETE FROM blob_items WHERE container = ? AND name = ? AND snapshot = ?`, container, i.Blob, int64(i.Snapshot.Ticks()))
}

// drop lets go of the item's manifest: it is collected unless another item of
// that name has it.
func (i *Item) drop(container int64) []engine.Statement {
	if i == nil || i.manifest == 0 {
		return nil
	}
	return []engine.Statement{do(`INSERT OR IGNORE INTO blob_dropped (manifest, container, name) VALUES (?, ?, ?)`, i.manifest, container, i.Blob)}
}

// encode writes details, which always can be.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return b
}

// isFault reports whether the error has this code.
func isFault(err error, code string) bool {
	var f *azerr.Error
	return errors.As(err, &f) && f.Code == code
}
