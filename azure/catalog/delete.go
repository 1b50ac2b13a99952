package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Deletion says what of a blob is deleted.
type Deletion int

// The ways to delete a blob.
const (
	DeleteBase      Deletion = iota // the blob, or the snapshot that is named; SnapshotsPresent if the blob has any
	DeleteBaseOnly                  // the blob; its snapshots stay
	DeleteInclude                   // the blob and its snapshots
	DeleteSnapshots                 // the snapshots; the blob stays
)

// Delete deletes a blob, its snapshots, or the one snapshot that ref names. With
// a blob go its lease and its uncommitted blocks. A blob of uncommitted blocks
// only is none yet. Snapshots whose blob is gone are deleted through its name
// all the same.
//
// The lease of a blob guards the blob, and its snapshots when they are deleted
// through it. A snapshot that is named has no lease: an id is a condition then.
func (c *Catalog) Delete(ctx context.Context, ref Ref, how Deletion, a Access) error {
	if ref.IsSnapshot() && how != DeleteBase {
		return azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot is deleted by itself")
	}
	return c.edit(ctx, ref, func(e *edit) error {
		if ref.IsSnapshot() {
			return e.deleteSnapshot(ctx, a)
		}
		return e.deleteBlob(ctx, how, a)
	})
}

func (e *edit) deleteSnapshot(ctx context.Context, a Access) error {
	if e.item == nil {
		return azerr.New(azerr.BlobNotFound)
	}
	remember, err := e.rememberSnapshot(ctx)
	if err != nil {
		return err
	}
	statements := append(e.item.drop(e.container.id), e.item.remove(e.container.id))
	return e.commit(ctx, a, append(statements, remember...)...)
}

// rememberSnapshot writes into the base that there was a snapshot of this id:
// no later one may have it, even if the machine's clock is set back.
func (e *edit) rememberSnapshot(ctx context.Context) ([]engine.Statement, error) {
	base, err := e.Catalog.item(ctx, e.container, e.ref.base())
	if err != nil || base == nil || base.LastSnapshot >= e.item.Snapshot.Ticks() {
		return nil, err
	}
	base.LastSnapshot = e.item.Snapshot.Ticks()
	return []engine.Statement{base.put(e.container.id)}, nil
}

// deleteBlob deletes the base, the snapshots, or both.
func (e *edit) deleteBlob(ctx context.Context, how Deletion, a Access) error {
	present, err := e.hasSnapshots(ctx)
	if err != nil {
		return err
	}
	deep := how == DeleteInclude || how == DeleteSnapshots
	if !e.exists() && !(deep && present) {
		return azerr.New(azerr.BlobNotFound)
	}
	var statements []engine.Statement
	if how == DeleteSnapshots && e.item != nil {
		last, err := e.lastSnapshot(ctx)
		if err != nil {
			return err
		}
		e.item.LastSnapshot = last
		statements = append(statements, e.item.put(e.container.id))
	}
	if deep {
		statements = append(statements, e.dropSnapshots()...)
	}
	forget := how != DeleteSnapshots && e.exists()
	if forget {
		statements = append(statements, e.dropBase()...)
	}
	judge := func() error {
		if err := e.judge(a); err != nil {
			return err
		}
		if how == DeleteBase && present {
			return azerr.New(azerr.SnapshotsPresent)
		}
		return nil
	}
	return e.decideIf(ctx, a, judge, engine.Decision{Forget: forget, Extras: statements})
}

func (e *edit) hasSnapshots(ctx context.Context) (bool, error) {
	const sql = `SELECT 1 FROM blob_items WHERE container = ? AND name = ? AND snapshot < ? LIMIT 1`
	return e.one(ctx, sql, []any{e.container.id, e.ref.Blob, int64(Base)}, func(engine.Columns) {})
}

// dropBase deletes the blob with its blocks and tags.
func (e *edit) dropBase() []engine.Statement {
	id := e.container.id
	statements := append(e.dropBlocks(), e.item.remove(id), untag(id, e.ref.Blob))
	return append(statements, e.item.drop(id)...)
}

// dropSnapshots deletes all snapshots of the blob.
func (e *edit) dropSnapshots() []engine.Statement {
	id, name, base := e.container.id, e.ref.Blob, int64(Base)
	return []engine.Statement{
		do(`INSERT OR IGNORE INTO blob_dropped (manifest, container, name) SELECT manifest, container, name FROM blob_items
			WHERE container = ? AND name = ? AND snapshot < ? AND manifest <> 0`, id, name, base),
		do(`DELETE FROM blob_items WHERE container = ? AND name = ? AND snapshot < ?`, id, name, base),
	}
}
