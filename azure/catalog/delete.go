package catalog

import (
	"context"
	"errors"
	"time"

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
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return err
	}
	defer b.unlock()
	var ch change
	if ref.IsSnapshot() {
		ch, err = b.deleteSnapshot(ctx, a)
	} else {
		ch, err = b.deleteBlob(ctx, how, a)
	}
	if err != nil {
		return err
	}
	return c.commit(ctx, ch)
}

func (b *blob) deleteSnapshot(ctx context.Context, a Access) (change, error) {
	if b.item == nil {
		return change{}, azerr.New(azerr.BlobNotFound)
	}
	rows := append(b.item.drop(b.container.id), b.item.remove(b.container.id))
	remember, err := b.rememberSnapshot(ctx)
	return b.change(a, b.check(a.If), append(rows, remember...)...), err
}

// rememberSnapshot writes into the base that there was a snapshot of this id:
// no later one may have it, even if the machine's clock is set back.
func (b *blob) rememberSnapshot(ctx context.Context) ([]engine.Statement, error) {
	base, err := b.loadItem(ctx, b.container, b.ref.base())
	if err != nil || base == nil || base.LastSnapshot >= b.item.Snapshot.Ticks() {
		return nil, err
	}
	base.LastSnapshot = b.item.Snapshot.Ticks()
	return []engine.Statement{base.put(b.container.id)}, nil
}

// deleteBlob deletes the base, the snapshots, or both.
func (b *blob) deleteBlob(ctx context.Context, how Deletion, a Access) (change, error) {
	present, err := b.hasSnapshots(ctx)
	if err != nil {
		return change{}, err
	}
	snapshots := how == DeleteInclude || how == DeleteSnapshots
	if !b.exists() && !(snapshots && present) {
		return change{}, azerr.New(azerr.BlobNotFound)
	}
	var rows []engine.Statement
	if how == DeleteSnapshots && b.item != nil {
		if b.item.LastSnapshot, err = b.lastSnapshot(ctx); err != nil {
			return change{}, err
		}
		rows = append(rows, b.item.put(b.container.id))
	}
	if snapshots {
		rows = append(rows, b.dropSnapshots()...)
	}
	base := how != DeleteSnapshots && b.exists()
	if base {
		rows = append(rows, b.dropBase()...)
	}
	problem := b.check(a.If)
	if problem == nil && how == DeleteBase && present {
		problem = azerr.New(azerr.SnapshotsPresent)
	}
	ch := b.change(a, problem, rows...)
	ch.forget = base
	return ch, nil
}

func (b *blob) hasSnapshots(ctx context.Context) (bool, error) {
	return b.queryOne(ctx, sqlAnySnapshot, []any{b.container.id, b.ref.Blob, int64(Base)}, func(engine.Columns) {})
}

// dropBase deletes the blob with its blocks and tags.
func (b *blob) dropBase() []engine.Statement {
	id := b.container.id
	rows := append(b.dropBlocks(), b.item.remove(id), deleteTags(id, b.ref.Blob))
	return append(rows, b.item.drop(id)...)
}

// dropSnapshots deletes all snapshots of the blob.
func (b *blob) dropSnapshots() []engine.Statement {
	id, name, base := b.container.id, b.ref.Blob, int64(Base)
	return []engine.Statement{
		statement(sqlDropSnapshots, id, name, base),
		statement(sqlDeleteSnapshots, id, name, base),
	}
}

// SetExpiry sets when a snapshot expires; nil: never. Its ETag stays.
func (c *Catalog) SetExpiry(ctx context.Context, ref Ref, at *Ticks) error {
	if !ref.IsSnapshot() {
		return azerr.New(azerr.InvalidQueryParameterValue).With("only snapshots expire")
	}
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return err
	}
	defer b.unlock()
	if b.item == nil {
		return azerr.New(azerr.BlobNotFound)
	}
	b.item.Expires = at
	return c.commit(ctx, b.change(Access{}, nil, b.item.put(b.container.id)))
}

// expireBatch is how many blobs are looked up at once.
const expireBatch = 100

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
		case len(due) < expireBatch:
			return c.untilNext(ctx)
		}
	}
}

// due returns blobs of which a snapshot's time has come.
func (c *Catalog) due(ctx context.Context) ([]Ref, error) {
	var due []Ref
	err := c.engine.Query(ctx, sqlDueBlobs, []any{int64(TicksOf(time.Now())), int64(expireBatch)}, func(r engine.Columns) error {
		due = append(due, Ref{Account: r.Text(0), Container: r.Text(1), Blob: r.Text(2)})
		return nil
	})
	return due, err
}

// expireOf deletes the snapshots of one blob whose time has come.
func (c *Catalog) expireOf(ctx context.Context, ref Ref) error {
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return unlessGone(err)
	}
	defer b.unlock()
	id, now := b.container.id, int64(TicksOf(time.Now()))
	rows := []engine.Statement{statement(sqlDropExpired, id, ref.Blob, now), statement(sqlDeleteExpired, id, ref.Blob, now)}
	if b.item != nil {
		if b.item.LastSnapshot, err = b.lastSnapshot(ctx); err != nil {
			return err
		}
		rows = append(rows, b.item.put(id))
	}
	return c.commitRows(ctx, rows...)
}

// unlessGone ignores that the container was deleted, and all in it.
func unlessGone(err error) error {
	if azerr.HasCode(err, azerr.ContainerNotFound) {
		return nil
	}
	return err
}

// untilNext returns how long it is until the next snapshot expires.
func (c *Catalog) untilNext(ctx context.Context) (time.Duration, error) {
	next := collectIdle
	_, err := c.queryOne(ctx, sqlNextExpiry, nil, func(r engine.Columns) { next = min(next, time.Until(Ticks(r.Int64(0)).Time())) })
	return max(next, 0), err
}

const (
	// stagedTTL is how long the uncommitted blocks of a blob stay after the last
	// of them came, as in Azure.
	stagedTTL = 7 * 24 * time.Hour

	// purgeEvery is how often expired blocks are looked for: not at every turn of
	// the collector, since that reads the rows of all uncommitted blocks.
	purgeEvery = time.Hour

	// purgeBatch is how many blobs are looked up at once.
	purgeBatch = 100
)

// purgeStaged deletes uncommitted blocks whose time has come, and with them blobs
// that have nothing else. A lease does not keep them: it guards against requests.
func (c *Catalog) purgeStaged(ctx context.Context) error {
	for {
		old := int64(TicksOf(time.Now().Add(-stagedTTL)))
		due, err := c.abandoned(ctx, old)
		if err != nil {
			return err
		}
		var failed error
		for _, ref := range due { // one that fails must not keep the others
			failed = errors.Join(failed, c.purgeStagedOf(ctx, ref, old))
		}
		if failed != nil || len(due) < purgeBatch {
			return failed
		}
	}
}

// abandoned returns blobs whose uncommitted blocks are all that old.
func (c *Catalog) abandoned(ctx context.Context, old int64) ([]Ref, error) {
	var due []Ref
	err := c.engine.Query(ctx, sqlAbandonedBlobs, []any{old, int64(purgeBatch)}, func(r engine.Columns) error {
		due = append(due, Ref{Account: r.Text(0), Container: r.Text(1), Blob: r.Text(2)})
		return nil
	})
	return due, err
}

func (c *Catalog) purgeStagedOf(ctx context.Context, ref Ref, old int64) error {
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return unlessGone(err)
	}
	defer b.unlock()
	var last int64
	_, err = c.queryOne(ctx, sqlLastStaged, []any{b.container.id, ref.Blob}, func(r engine.Columns) { last = r.Int64(0) })
	if err != nil || last > old {
		return err // one more was staged meanwhile
	}
	rows := dropBlocks(b.container.id, ref.Blob)
	if b.item != nil && !b.item.Committed {
		rows = append(rows, b.item.remove(b.container.id))
	}
	return c.commitRows(ctx, rows...)
}
