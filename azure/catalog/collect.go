package catalog

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold/leasehold/engine"
)

const (
	// housekeeping stands where a commit wants the name of a resource and none
	// is meant: its lease is left alone.
	housekeeping = resourcePrefix + "catalog"

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
			c.rest(ctx, woken, c.tidy(ctx))
		}
	})
	return func() {
		select {
		case woken <- struct{}{}:
		default: // it is going to look anyhow
		}
	}
}

// tidy does what there is to do and returns how long there is nothing more.
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

// rest sleeps for a time, or until it is woken, and gathers a little work then.
func (c *Catalog) rest(ctx context.Context, woken <-chan struct{}, d time.Duration) {
	select {
	case <-woken:
	case <-time.After(d):
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(collectPause):
	case <-ctx.Done():
	}
}

// report logs trouble, but not that of being asked to end.
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

// chunkBite is how many chunks are deleted in one commit.
const chunkBite = 256

// collectChunks deletes chunks that nothing refers to. No such chunk can get a
// reference again: whoever shares a chunk holds the lock of a blob that has it.
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
	const sql = `SELECT id FROM blob_chunks WHERE refs <= 0 ORDER BY id LIMIT ? + 0`
	err := c.engine.Query(ctx, sql, []any{int64(chunkBite)}, func(r engine.Columns) error {
		free = append(free, r.Int64(0))
		return nil
	})
	if err != nil || len(free) == 0 {
		return false, err
	}
	if err := c.settle(ctx, removeFree(free)...); err != nil {
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

// removeFree deletes those chunks that nothing refers to, whatever was counted.
// What is in use after all is counted again, in the same transaction.
func removeFree(chunks []int64) []engine.Statement {
	list := encodeText(chunks)
	return []engine.Statement{do(recountSQL, list), do(removeSQL, list)}
}

const (
	recountSQL = `UPDATE blob_chunks SET refs = (SELECT count(*) FROM blob_pieces WHERE chunk = blob_chunks.id)
			+ (SELECT count(*) FROM blob_blocks WHERE chunk = blob_chunks.id)
		WHERE id IN (SELECT value FROM json_each(?)) AND refs <= 0 AND (EXISTS (SELECT 1 FROM blob_pieces WHERE chunk = blob_chunks.id)
			OR EXISTS (SELECT 1 FROM blob_blocks WHERE chunk = blob_chunks.id))`
	removeSQL = `DELETE FROM blob_chunks WHERE id IN (SELECT value FROM json_each(?)) AND refs <= 0`
)

// settle commits statements that no lease has a say in.
func (c *Catalog) settle(ctx context.Context, statements ...engine.Statement) error {
	return c.do(ctx, housekeeping, func(engine.View) (engine.Decision, error) {
		return engine.Decision{Extras: statements}, nil
	})
}

// sweepOrphans deletes files that were there at the start and that nothing
// knows: content of requests whose end the last program did not see.
func (c *Catalog) sweepOrphans(ctx context.Context) error {
	return c.content.Orphans(ctx,
		func(ids []int64) (map[int64]bool, error) { return c.knownChunks(ctx, ids) },
		func(id int64) error { return c.content.Remove(id) })
}

// knownChunks returns those ids that have a row, or that a piece or a block
// refers to: a file whose row is lost is the last there is of its content.
func (c *Catalog) knownChunks(ctx context.Context, ids []int64) (map[int64]bool, error) {
	known := make(map[int64]bool, len(ids))
	const sql = `WITH asked AS MATERIALIZED (SELECT value AS id FROM json_each(?))
		SELECT id FROM blob_chunks WHERE id IN (SELECT id FROM asked)
		UNION SELECT chunk FROM blob_pieces WHERE chunk IN (SELECT id FROM asked)
		UNION SELECT chunk FROM blob_blocks WHERE chunk IN (SELECT id FROM asked)`
	err := c.engine.Query(ctx, sql, []any{encodeText(ids)}, func(r engine.Columns) error {
		known[r.Int64(0)] = true
		return nil
	})
	return known, err
}
