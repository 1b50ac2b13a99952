package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/sleep"
)

const (
	// collectPause gathers work before the collector looks again.
	collectPause = 200 * time.Millisecond

	// collectTrouble is how long the collector waits after a failure.
	collectTrouble = 5 * time.Second

	// collectIdle is how long it sleeps if nobody wakes it.
	collectIdle = time.Hour
)

// collectInBackground deletes what nobody refers to any more: at once what was
// left when the program ended, later whenever it is woken. It also deletes
// snapshots and uncommitted blocks whose time has come, and, once, files that no
// row knows. All ends with the context.
func (c *Catalog) collectInBackground(ctx context.Context) (wake func()) {
	woken := make(chan struct{}, 1)
	c.done.Go(func() { c.report(ctx, "sweep", c.sweepOrphans(ctx)) })
	c.done.Go(func() {
		for ctx.Err() == nil {
			c.pause(ctx, woken, c.tidy(ctx))
		}
	})
	return func() {
		select {
		case woken <- struct{}{}:
		default: // it is going to look anyhow
		}
	}
}

// tidy does one turn of the collector and returns how long nothing more is due.
func (c *Catalog) tidy(ctx context.Context) time.Duration {
	next, err := c.expire(ctx)
	if now := time.Now(); !now.Before(c.nextPurge) {
		c.nextPurge = now.Add(purgeEvery)
		err = errors.Join(err, c.purgeStaged(ctx))
	}
	err = errors.Join(err, c.collect(ctx)) // one has nothing to do with the other
	if err != nil {
		c.report(ctx, "collect", err)
		return collectTrouble
	}
	return next
}

// pause sleeps for a time, or until it is woken, and then a little longer to
// gather work.
func (c *Catalog) pause(ctx context.Context, woken <-chan struct{}, d time.Duration) {
	select {
	case <-woken:
	case <-time.After(d):
	case <-ctx.Done():
		return
	}
	sleep.For(ctx, collectPause)
}

// report logs a failure, unless the catalog is closing.
func (c *Catalog) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		c.o.Logger.WarnContext(ctx, "blob catalog: cannot "+what, "error", err)
	}
}

// collect deletes manifests that no item has, then the chunks that nothing
// refers to.
func (c *Catalog) collect(ctx context.Context) error {
	if err := c.collectManifests(ctx); err != nil {
		return err
	}
	return c.collectChunks(ctx)
}

// chunkBatch is how many chunks are deleted in one commit.
const chunkBatch = 256

// collectChunks deletes chunks that nothing refers to. No such chunk can get a
// reference again: who shares a chunk holds the lock of a blob that has it.
func (c *Catalog) collectChunks(ctx context.Context) error {
	for {
		more, err := c.collectSomeChunks(ctx)
		if err != nil || !more {
			return err
		}
	}
}

func (c *Catalog) collectSomeChunks(ctx context.Context) (more bool, _ error) {
	c.collecting.Lock()
	defer c.collecting.Unlock()
	var free []int64
	err := c.engine.Query(ctx, sqlFreeChunks, []any{int64(chunkBatch)}, func(r engine.Columns) error {
		free = append(free, r.Int64(0))
		return nil
	})
	if err != nil || len(free) == 0 {
		return false, err
	}
	if err := c.commitRows(ctx, deleteFree(free)...); err != nil {
		return false, err
	}
	used, err := c.knownChunks(ctx, free)
	if err != nil {
		return false, err // the next start sweeps the files
	}
	if len(used) > 0 {
		c.o.Logger.WarnContext(ctx, "blob catalog: chunks were counted as unused and are in use; they were kept and counted again, run a check", "chunks", len(used))
	}
	gone := slices.DeleteFunc(free, func(id int64) bool { return used[id] })
	return true, c.content.Remove(gone...) // what is left of them, the next start sweeps
}

// deleteFree deletes those chunks that nothing refers to, whatever was counted.
// What is in use after all is counted again, in the same transaction.
func deleteFree(chunks []int64) []engine.Statement {
	list := encodeText(chunks)
	return []engine.Statement{statement(sqlRecountRefs, list), statement(sqlDeleteFreeChunks, list)}
}

// sweepOrphans deletes files that were there at the start and that nothing refers
// to: content of requests that the last process did not finish.
func (c *Catalog) sweepOrphans(ctx context.Context) error {
	return c.content.Orphans(ctx,
		func(ids []int64) (map[int64]bool, error) { return c.knownChunks(ctx, ids) },
		func(id int64) error { return c.content.Remove(id) })
}

// knownChunks returns those ids that have a row, or that a piece or a block
// refers to: a file whose row is lost is the last there is of its content.
func (c *Catalog) knownChunks(ctx context.Context, ids []int64) (map[int64]bool, error) {
	known := make(map[int64]bool, len(ids))
	err := c.engine.Query(ctx, sqlKnownChunks, []any{encodeText(ids)}, func(r engine.Columns) error {
		known[r.Int64(0)] = true
		return nil
	})
	return known, err
}

const (
	droppedBatch = 1000 // how many manifests are looked at together
	pieceBatch   = 2000 // how many pieces are deleted in one commit
)

// dropped is a manifest that an item no longer has.
type dropped struct {
	manifest  int64
	container int64
	name      string
	used      bool  // another item of that name has it
	pieces    int64 // no more are counted than pieceBatch and one
}

// collectManifests deletes the pieces of dropped manifests that no item has. Those
// that are being read wait.
func (c *Catalog) collectManifests(ctx context.Context) error {
	for after := int64(0); ; {
		found, err := c.droppedAfter(ctx, after)
		if err != nil || len(found) == 0 {
			return err
		}
		rows, next := c.planCollection(found, after)
		if len(rows) > 0 {
			if err := c.commitRows(ctx, rows...); err != nil {
				return err
			}
		}
		after = next
	}
}

func (c *Catalog) droppedAfter(ctx context.Context, after int64) ([]dropped, error) {
	var found []dropped
	err := c.engine.Query(ctx, sqlDroppedManifests, []any{int64(pieceBatch + 1), after, int64(droppedBatch)}, func(r engine.Columns) error {
		found = append(found, dropped{r.Int64(0), r.Int64(1), r.Text(2), r.Int64(3) != 0, r.Int64(4)})
		return nil
	})
	return found, err
}

// planCollection returns what one commit deletes, and after which manifest to
// go on.
//
// A manifest that no item has stays so: an item gets a new one, or its base's.
// And its readers pinned it before the last item went, so pins are looked at now,
// after the items.
func (c *Catalog) planCollection(found []dropped, after int64) (rows []engine.Statement, next int64) {
	left := int64(pieceBatch)
	var whole []int64
	for _, d := range found {
		switch {
		case d.used:
			rows = append(rows, d.keep())
		case c.pins.await(d.manifest):
			// its last reader wakes the collector
		case d.pieces <= left:
			whole = append(whole, d.manifest)
			left -= d.pieces
		case left < pieceBatch:
			return append(rows, deleteManifests(whole)...), after
		default:
			return append(append(rows, deleteManifests(whole)...), d.deleteSomePieces()...), after
		}
		after = d.manifest
	}
	return append(rows, deleteManifests(whole)...), after
}

// deleteManifests deletes manifests with all their pieces and references. It is
// three statements however many they are: most have one piece, and come from blobs
// that are written again and again. To do it twice does no harm.
func deleteManifests(manifests []int64) []engine.Statement {
	if len(manifests) == 0 {
		return nil
	}
	list := encodeText(manifests)
	return []engine.Statement{
		statement(sqlUnrefManifests, list),
		statement(sqlDeletePieces, list),
		statement(sqlDeleteDropped, list),
	}
}

// keep removes the manifest from the list, if an item has it after all when this
// commits: that item will put it there again.
func (d dropped) keep() engine.Statement {
	return statement(sqlKeepManifest, d.manifest, d.container, d.name)
}

// deleteSomePieces deletes up to pieceBatch pieces of a large manifest with their
// references, and the manifest from the list after the last.
func (d dropped) deleteSomePieces() []engine.Statement {
	batch := int64(pieceBatch)
	return []engine.Statement{
		statement(sqlUnrefSomePieces, d.manifest, batch),
		statement(sqlDeleteSomePieces, d.manifest, batch),
		statement(sqlDeleteDroppedIfEmpty, d.manifest),
	}
}
