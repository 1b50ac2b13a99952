package catalog

import (
	"context"
	"encoding/base64"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Azure's limits on the blocks of one blob.
const (
	MaxCommitted   = 50_000
	MaxUncommitted = 100_000
	MaxBlockID     = 64 // bytes, before they are put into base64
)

// BlockSource says in which list a block is looked for.
type BlockSource int

// Where to look for a block.
const (
	Latest      BlockSource = iota // among the uncommitted ones, then among the committed ones
	Committed                      // what the blob has now
	Uncommitted                    // what was staged
)

// BlockRef names a block of a list to be committed. The id is in base64, as it
// was sent.
type BlockRef struct {
	ID   string
	From BlockSource
}

// BlockInfo is a block of a blob.
type BlockInfo struct {
	ID   string
	Size int64
}

// BlockLists are the blocks of a blob.
type BlockLists struct {
	*Item       // nil: there are only uncommitted blocks
	Committed   []BlockInfo
	Uncommitted []BlockInfo
}

// StageBlock keeps a block until it is committed. A block of the same id that
// was staged before is replaced. If there is no such blob there is one now, of
// uncommitted blocks only. It takes the upload over.
//
// Staging holds the blob's lock together with others who stage, so that an
// upload in parallel shares its commits: each adds a row of its own, and the
// statements are right in any order. Azure has no conditions here; those of a are
// asked as of what makes a blob, for a caller who must not overwrite one.
func (c *Catalog) StageBlock(ctx context.Context, ref Ref, block string, u *Upload, a Access) error {
	err := c.room()
	if err == nil {
		err = checkWritable(ref)
	}
	if err == nil {
		err = c.join(ctx, ref, func(e *edit) error { return e.stage(ctx, block, u, a) })
	}
	u.settle(err)
	return err
}

func (e *edit) stage(ctx context.Context, block string, u *Upload, a Access) error {
	pass, leave := e.idLengths.join(e.ref.path())
	defer leave()
	problem, err := e.refuseBlock(ctx, block, u)
	if err != nil {
		return err
	}
	id, name := e.container.id, e.ref.Blob
	now := e.clock.after(0)
	bare := &Item{Ref: e.ref.base(), Kind: Block, Ticks: now, Created: now}
	statements := []engine.Statement{
		bare.add(id),
		u.keep(1),
		do(`UPDATE blob_chunks SET refs = refs - 1
			WHERE id = (SELECT chunk FROM blob_blocks WHERE container = ? AND name = ? AND block = ?)`, id, name, block),
		do(`INSERT OR REPLACE INTO blob_blocks (container, name, block, size, chunk, staged) VALUES (?, ?, ?, ?, ?, ?)`,
			id, name, block, u.Size, u.chunk.ID, int64(now)),
	}
	judge := func() error {
		if err := e.create(a); err != nil {
			return err
		}
		if problem == nil && !pass(len(block)) {
			return azerr.New(azerr.InvalidBlobOrBlock)
		}
		return problem
	}
	return e.decideIf(ctx, a, judge, engine.Decision{Extras: statements})
}

// add writes the item's row unless there is one.
func (i *Item) add(container int64) engine.Statement {
	const sql = `INSERT OR IGNORE INTO blob_items (container, name, snapshot, kind, committed, ticks, created, size, manifest, details)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	return do(sql, container, i.Blob, int64(i.Snapshot.Ticks()), int64(i.Kind), i.Committed, int64(i.Ticks), int64(i.Created),
		i.Size, i.manifest, encode(i.Details))
}

// refuseBlock returns what speaks against staging the block.
func (e *edit) refuseBlock(ctx context.Context, block string, u *Upload) (problem, err error) {
	switch {
	case u.problem() != nil:
		return u.problem(), nil
	case checkBlockID(block) != nil:
		return checkBlockID(block), nil
	case u.Size == 0:
		return azerr.New(azerr.InvalidHeaderValue).With("a block must not be empty"), nil
	case e.exists() && e.item.Kind != Block:
		return azerr.New(azerr.InvalidBlobType), nil
	}
	return e.refuseAmong(ctx, block)
}

// checkBlockID refuses what cannot be the id of a block.
func checkBlockID(block string) error {
	raw, err := base64.StdEncoding.DecodeString(block)
	if err != nil || len(raw) == 0 || len(raw) > MaxBlockID {
		return azerr.New(azerr.InvalidBlockId)
	}
	return nil
}

// refuseAmong returns what speaks against the block because of others that are
// staged. Ids must have one length among the uncommitted blocks; those of a
// version that was committed long ago bind nobody, as in Azure.
func (e *edit) refuseAmong(ctx context.Context, block string) (problem, err error) {
	other := block
	const sql = `SELECT block FROM blob_blocks WHERE container = ? AND name = ? LIMIT 1`
	_, err = e.one(ctx, sql, []any{e.container.id, e.ref.Blob}, func(r engine.Columns) { other = r.Text(0) })
	switch {
	case err != nil:
		return nil, err
	case len(other) != len(block):
		return azerr.New(azerr.InvalidBlobOrBlock), nil
	}
	full, err := e.tooManyBlocks(ctx)
	if full {
		problem = azerr.New(azerr.BlockCountExceedsLimit)
	}
	return problem, err
}
