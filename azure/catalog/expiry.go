package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// SetExpiry says when a snapshot goes by itself; nil: never. Its ETag stays.
func (c *Catalog) SetExpiry(ctx context.Context, ref Ref, at *Ticks) error {
	if !ref.IsSnapshot() {
		return azerr.New(azerr.InvalidQueryParameterValue).With("only snapshots expire")
	}
	return c.edit(ctx, ref, func(e *edit) error {
		if e.item == nil {
			return azerr.New(azerr.BlobNotFound)
		}
		e.item.Expires = at
		return e.commit(ctx, Access{}, e.item.put(e.container.id))
	})
}

// expireBite is how many blobs are looked up at once.
const expireBite = 100

// expire deletes snapshots whose time has come, and says how long it is until
// the next one's. A lease does not keep them: it guards the blob, and its
// snapshots only against requests.
func (c *Catalog) expire(ctx context.Context) (time.Duration, error) {
	for {
		due, err := c.due(ctx)
		if err != nil {
			return 0, err
		}
		var failed error
		for _, ref := range due { // one that fails must not keep the others
			failed = errors.Join(failed, c.expireOf(ctx, ref))
		}
		switch {
		case failed != nil:
			return 0, failed
		case len(due) < expireBite:
			return c.untilNext(ctx)
		}
	}
}

// due returns blobs of which a snapshot's time has come.
func (c *Catalog) due(ctx context.Context) ([]Ref, error) {
	const sql = `SELECT DISTINCT c.account, c.name, i.name FROM blob_items i JOIN blob_containers c ON c.id = i.container
		WHERE i.expires <= ? AND NOT c.deleting LIMIT ? + 0`
	var due []Ref
	err := c.engine.Query(ctx, sql, []any{int64(TicksOf(time.Now())), int64(expireBite)}, func(r engine.Columns) error {
		due = append(due, Ref{Account: r.Text(0), Container: r.Text(1), Blob: r.Text(2)})
		return nil
	})
	return due, err
}

// expireOf deletes the snapshots of one blob whose time has come.
func (c *Catalog) expireOf(ctx context.Context, ref Ref) error {
	err := c.edit(ctx, ref, func(e *edit) error {
		id, name, now := e.container.id, ref.Blob, int64(TicksOf(time.Now()))
		statements := []engine.Statement{
			do(`INSERT OR IGNORE INTO blob_dropped (manifest, container, name) SELECT manifest, container, name FROM blob_items
				WHERE container = ? AND name = ? AND expires <= ? AND manifest <> 0`, id, name, now),
			do(`DELETE FROM blob_items WHERE container = ? AND name = ? AND expires <= ?`, id, name, now),
		}
		if e.item != nil {
			last, err := e.lastSnapshot(ctx)
			if err != nil {
				return err
			}
			e.item.LastSnapshot = last
			statements = append(statements, e.item.put(id))
		}
		return c.settle(ctx, statements...)
	})
	if isFault(err, azerr.ContainerNotFound) {
		return nil // gone, with all of it
	}
	return err
}

// untilNext returns how long it is until the next snapshot expires.
func (c *Catalog) untilNext(ctx context.Context) (time.Duration, error) {
	next := collectIdle
	const sql = `SELECT i.expires FROM blob_items i JOIN blob_containers c ON c.id = i.container
		WHERE i.expires IS NOT NULL AND NOT c.deleting ORDER BY i.expires LIMIT 1`
	_, err := c.one(ctx, sql, nil, func(r engine.Columns) { next = min(next, time.Until(Ticks(r.Int64(0)).Time())) })
	return max(next, 0), err
}
