package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Blocks returns the committed and the uncommitted blocks of a blob, or the
// committed ones of a snapshot. What PutBlob has written is in no list.
func (c *Catalog) Blocks(ctx context.Context, ref Ref, a Access) (BlockLists, error) {
	var lists BlockLists
	err := c.join(ctx, ref, func(e *edit) error {
		switch {
		case e.item == nil:
			return azerr.New(azerr.BlobNotFound)
		case e.item.Kind != Block:
			return azerr.New(azerr.InvalidBlobType)
		}
		if err := c.read(ctx, ref.base(), a, e.ticks(), &e.item.Lease); err != nil {
			return err
		}
		if err := a.If.judgeTags(e.item.Tags); err != nil {
			return err
		}
		return e.listBlocks(ctx, &lists)
	})
	if err != nil {
		return BlockLists{}, err
	}
	return lists, nil
}

func (e *edit) listBlocks(ctx context.Context, lists *BlockLists) error {
	if e.exists() {
		lists.Item = e.item
	}
	if e.ref.IsSnapshot() {
		e.item.Lease = LeaseView{}
	} else {
		err := e.staged(ctx, func(p piece) {
			lists.Uncommitted = append(lists.Uncommitted, BlockInfo{ID: p.block, Size: p.size})
		})
		if err != nil {
			return err
		}
	}
	return e.committed(ctx, func(p piece) {
		lists.Committed = append(lists.Committed, BlockInfo{ID: p.block, Size: p.size})
	})
}

// committed calls each with the blocks that the item is made of, in order.
func (e *edit) committed(ctx context.Context, each func(piece)) error {
	if e.item == nil || e.item.manifest == 0 {
		return nil
	}
	const sql = `SELECT start, size, chunk, at, block FROM blob_pieces WHERE manifest = ? AND block IS NOT NULL ORDER BY start`
	return e.engine.Query(ctx, sql, []any{e.item.manifest}, func(r engine.Columns) error {
		each(piece{start: r.Int64(0), size: r.Int64(1), chunk: r.Int64(2), at: r.Int64(3), block: r.Text(4)})
		return nil
	})
}

// staged calls each with the uncommitted blocks of the blob, in the order in
// which they were staged.
func (e *edit) staged(ctx context.Context, each func(piece)) error {
	const sql = `SELECT size, chunk, block FROM blob_blocks WHERE container = ? AND name = ? ORDER BY staged, block`
	return e.engine.Query(ctx, sql, []any{e.container.id, e.ref.Blob}, func(r engine.Columns) error {
		each(piece{size: r.Int64(0), chunk: r.Int64(1), block: r.Text(2)})
		return nil
	})
}

// CommitBlocks makes a block blob of blocks, in the order of the list. Blocks
// that were staged and are not in it are gone afterwards; a block may be named
// more than once.
func (c *Catalog) CommitBlocks(ctx context.Context, ref Ref, list []BlockRef, n New, a Access) (*Item, error) {
	var made *Item
	err := c.write(ctx, ref, func(e *edit) error {
		s, err := e.assemble(ctx, list)
		if err != nil {
			return err
		}
		made = e.make(Block, n)
		made.Size = s.size
		statements := []engine.Statement{do(`DELETE FROM blob_blocks WHERE container = ? AND name = ?`, e.container.id, ref.Blob)}
		if len(s.pieces) > 0 {
			made.manifest = c.nextManifest()
			statements = append(statements, insertPieces(made.manifest, s.pieces)...)
		}
		statements = append(statements, countRefs(s.refs)...)
		return e.replace(ctx, a, made, s.problem, statements...)
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// assembly is a block list that was looked up.
type assembly struct {
	pieces  []piece
	size    int64
	refs    map[int64]int64 // by how much the references to each chunk change
	problem error           // why the list cannot be committed
}

// assemble looks up the blocks of a list. A block that was staged and is
// committed has one reference before and one after, so as a rule no count
// changes at all.
func (e *edit) assemble(ctx context.Context, list []BlockRef) (*assembly, error) {
	s := &assembly{refs: map[int64]int64{}}
	switch {
	case len(list) > MaxCommitted:
		s.problem = azerr.New(azerr.BlockListTooLong)
		return s, nil
	case e.exists() && e.item.Kind != Block:
		s.problem = azerr.New(azerr.InvalidBlobType)
		return s, nil
	}
	var known [Uncommitted + 1]map[string]piece
	for i := range known {
		known[i] = map[string]piece{}
	}
	err := e.committed(ctx, func(p piece) { known[Committed][p.block], known[Latest][p.block] = p, p })
	if err == nil {
		err = e.staged(ctx, func(p piece) {
			known[Uncommitted][p.block], known[Latest][p.block] = p, p
			s.refs[p.chunk]--
		})
	}
	if err != nil {
		return nil, err
	}
	s.add(list, known[:])
	return s, nil
}

func (s *assembly) add(list []BlockRef, known []map[string]piece) {
	for _, block := range list {
		p, ok := known[block.From][block.ID]
		if !ok {
			s.problem = azerr.New(azerr.InvalidBlockList).With("the blob has no block %q where the list wants it", block.ID)
			return
		}
		p.start = s.size
		s.pieces = append(s.pieces, p)
		s.size += p.size
		s.refs[p.chunk]++
	}
}
