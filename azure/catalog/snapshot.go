package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// Snapshot keeps the blob as it is now: one row, whatever its size. It returns
// the snapshot, with the ETag of its base. Metadata takes the place of the
// base's unless it is nil. A lease does not stop it, because it changes nothing
// of the base: an id is a condition, no more.
//
// It holds the blob's lock together with others who take a snapshot, so that
// thousands of them share their commits. Ids come from one clock, so they are
// all different, and each is larger than those of snapshots taken before.
func (c *Catalog) Snapshot(ctx context.Context, ref Ref, metadata map[string]string, a Access) (*Item, error) {
	if ref.IsSnapshot() {
		return nil, azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot has no snapshots")
	}
	if err := c.room(); err != nil {
		return nil, err
	}
	var taken *Item
	err := c.join(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return azerr.New(azerr.BlobNotFound)
		}
		last, err := e.lastSnapshot(ctx)
		if err != nil {
			return err
		}
		taken = e.capture(last, metadata)
		d := engine.Decision{Extras: []engine.Statement{taken.put(e.container.id)}}
		return e.decideAs(ctx, a, machine.Read, func() error { return e.judgeSnapshot(a) }, d)
	})
	if err != nil {
		return nil, err
	}
	return taken, nil
}

// judgeSnapshot says what speaks against taking one.
func (e *edit) judgeSnapshot(a Access) error {
	if err := e.judge(a); err != nil {
		return err
	}
	if e.item.Tier == "Archive" {
		return azerr.New(azerr.BlobArchived)
	}
	return nil
}

// capture makes the snapshot's item.
func (e *edit) capture(last Ticks, metadata map[string]string) *Item {
	i := *e.item
	taken := e.clock.after(last)
	i.Snapshot = At(taken)
	i.LastSnapshot, i.Of = 0, i.Ticks
	if metadata != nil {
		i.Metadata = metadata
	}
	if ttl := e.o.SnapshotTTL; ttl > 0 {
		gone := taken + Ticks(ttl/100)
		i.Expires = &gone
	}
	return &i
}

// lastSnapshot returns the largest id that a snapshot of the blob is known to
// have had.
func (e *edit) lastSnapshot(ctx context.Context) (Ticks, error) {
	var last Ticks
	const sql = `SELECT max(snapshot) FROM blob_items WHERE container = ? AND name = ? AND snapshot < ?`
	_, err := e.one(ctx, sql, []any{e.container.id, e.ref.Blob, int64(Base)}, func(r engine.Columns) { last = Ticks(r.Int64(0)) })
	if e.item != nil {
		last = max(last, e.item.LastSnapshot)
	}
	return last, err
}
