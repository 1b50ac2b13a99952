package catalog

import (
	"cmp"
	"context"
	"encoding/base64"
	"sync"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
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
// uncommitted blocks only. The upload is the catalog's from now on.
//
// Those who stage blocks of one blob share its lock, so that an upload in
// parallel shares its commits: each adds a row of its own, and the statements are
// right in any order. Azure has no conditions here; those of a are checked as for
// what makes a blob, for a caller who must not overwrite one.
func (c *Catalog) StageBlock(ctx context.Context, ref Ref, block string, u *Upload, a Access) (err error) {
	defer func() { u.finish(err) }()
	if err := c.checkWrite(ref); err != nil {
		return err
	}
	b, err := c.shareBlob(ctx, ref)
	if err != nil {
		return err
	}
	defer b.unlock()
	length := c.idLengths.enter(ref.path())
	defer c.idLengths.exit(ref.path(), length)

	problem, err := b.checkBlock(ctx, block, u)
	if err != nil {
		return err
	}
	id, now := b.container.id, c.clock.after(0)
	ch := b.change(a, cmp.Or(b.checkCreate(a.If), problem),
		addStaged(id, ref.Blob, now),
		u.addChunk(),
		statement(sqlUnrefReplacedBlock, id, ref.Blob, block),
		statement(sqlPutBlock, id, ref.Blob, block, u.Size, u.chunk.ID, int64(now)))
	if ch.problem == nil {
		ch.lease = c.idLengths.withLength(ch.lease, length, len(block))
	}
	return c.commit(ctx, ch)
}

// checkBlock returns why the block cannot be staged.
func (b *blob) checkBlock(ctx context.Context, block string, u *Upload) (problem, err error) {
	switch {
	case u.failed != nil:
		return u.failed, nil
	case checkBlockID(block) != nil:
		return checkBlockID(block), nil
	case u.Size == 0:
		return azerr.New(azerr.InvalidHeaderValue).With("a block must not be empty"), nil
	case b.exists() && b.item.Kind != Block:
		return azerr.New(azerr.InvalidBlobType), nil
	}
	return b.checkAmong(ctx, block)
}

// checkBlockID refuses what cannot be the id of a block.
func checkBlockID(block string) error {
	raw, err := base64.StdEncoding.DecodeString(block)
	if err != nil || len(raw) == 0 || len(raw) > MaxBlockID {
		return azerr.New(azerr.InvalidBlockId)
	}
	return nil
}

// checkAmong returns why the block cannot be staged beside those that are. Ids
// must have one length among the uncommitted blocks; those of a version that was
// committed long ago do not count, as in Azure.
func (b *blob) checkAmong(ctx context.Context, block string) (problem, err error) {
	other := block
	_, err = b.queryOne(ctx, sqlAnyBlock, []any{b.container.id, b.ref.Blob}, func(r engine.Columns) { other = r.Text(0) })
	switch {
	case err != nil:
		return nil, err
	case len(other) != len(block):
		return azerr.New(azerr.InvalidBlobOrBlock), nil
	}
	full, err := b.tooManyBlocks(ctx)
	if full {
		problem = azerr.New(azerr.BlockCountExceedsLimit)
	}
	return problem, err
}

// blockCounts are upper bounds of how many uncommitted blocks blobs have.
// Counting them for every block would cost the square of their number. A bound
// only grows; at the limit they are counted.
type blockCounts struct {
	mu     sync.Mutex
	bounds map[string]int64
	limit  int64 // zero: MaxUncommitted
}

func (k *blockCounts) most() int64 { return cmp.Or(k.limit, MaxUncommitted) }

// maxCounted bounds the memory: beyond it, all is forgotten and counted anew.
const maxCounted = 10_000

// add counts one more block, if the blob's bound is known.
func (k *blockCounts) add(path string) (bound int64, known bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if bound, known = k.bounds[path]; known {
		bound++
		k.bounds[path] = bound
	}
	return bound, known
}

func (k *blockCounts) set(path string, bound int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bounds == nil || len(k.bounds) >= maxCounted {
		k.bounds = map[string]int64{}
	}
	k.bounds[path] = max(bound, k.bounds[path])
}

// tooManyBlocks reports whether the blob has as many uncommitted blocks as it
// may have, and counts one more.
func (b *blob) tooManyBlocks(ctx context.Context) (bool, error) {
	path := b.ref.path()
	if bound, known := b.blockCounts.add(path); known && bound <= b.blockCounts.most() {
		return false, nil
	}
	var n int64
	_, err := b.queryOne(ctx, sqlCountBlocks, []any{b.container.id, b.ref.Blob}, func(r engine.Columns) { n = r.Int64(0) })
	if err != nil {
		return false, err
	}
	b.blockCounts.set(path, n+1)
	return n >= b.blockCounts.most(), nil
}

// idLengths keeps the ids of a blob's uncommitted blocks to one length while
// several callers stage blocks of it: what one of them is committing, the others
// cannot read yet. An entry lives while somebody stages, so it needs no bound.
type idLengths struct {
	mu    sync.Mutex
	blobs map[string]*idLength // by path
}

type idLength struct {
	stagers int
	length  int // of the ids that were allowed; zero: none was yet
}

// enter counts a caller who stages a block of the blob; its lock is held, shared.
// The caller reads the blocks that there are afterwards, and calls exit at the
// end.
func (l *idLengths) enter(path string) *idLength {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blobs == nil {
		l.blobs = map[string]*idLength{}
	}
	own := l.blobs[path]
	if own == nil {
		own = &idLength{}
		l.blobs[path] = own
	}
	own.stagers++
	return own
}

func (l *idLengths) exit(path string, own *idLength) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own.stagers--; own.stagers == 0 {
		delete(l.blobs, path)
	}
}

// withLength returns a rule that also refuses an id of another length than those
// that others are committing. Only an id that is going to be committed restricts
// others, so both are decided in one step.
func (l *idLengths) withLength(rule leaseRule, own *idLength, length int) leaseRule {
	return func(v engine.View) (machine.Outcome, error) {
		o, err := rule(v)
		if err != nil {
			return o, err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.length == 0 {
			own.length = length
		}
		if own.length != length {
			err = azerr.New(azerr.InvalidBlobOrBlock)
		}
		return o, err
	}
}

// Blocks returns the committed and the uncommitted blocks of a blob, or the
// committed ones of a snapshot. What PutBlob has written is in no list.
func (c *Catalog) Blocks(ctx context.Context, ref Ref, a Access) (BlockLists, error) {
	b, err := c.shareBlob(ctx, ref)
	if err != nil {
		return BlockLists{}, err
	}
	defer b.unlock()
	switch {
	case b.item == nil:
		return BlockLists{}, azerr.New(azerr.BlobNotFound)
	case b.item.Kind != Block:
		return BlockLists{}, azerr.New(azerr.InvalidBlobType)
	}
	if err := b.checkReadItem(ctx, a, b.ticks(), b.item); err != nil {
		return BlockLists{}, err
	}
	return b.listBlocks(ctx)
}

func (b *blob) listBlocks(ctx context.Context) (lists BlockLists, err error) {
	if b.exists() {
		lists.Item = b.item
	}
	if !b.ref.IsSnapshot() {
		err = b.stagedBlocks(ctx, func(p piece) {
			lists.Uncommitted = append(lists.Uncommitted, BlockInfo{ID: p.block, Size: p.size})
		})
	}
	if err == nil {
		err = b.committedBlocks(ctx, func(p piece) {
			lists.Committed = append(lists.Committed, BlockInfo{ID: p.block, Size: p.size})
		})
	}
	if err != nil {
		return BlockLists{}, err
	}
	return lists, nil
}

// committedBlocks calls each with the blocks that the item is made of, in order.
func (b *blob) committedBlocks(ctx context.Context, each func(piece)) error {
	if b.item == nil || b.item.manifest == 0 {
		return nil
	}
	return b.engine.Query(ctx, sqlCommittedBlocks, []any{b.item.manifest}, func(r engine.Columns) error {
		each(piece{start: r.Int64(0), size: r.Int64(1), chunk: r.Int64(2), at: r.Int64(3), block: r.Text(4)})
		return nil
	})
}

// stagedBlocks calls each with the uncommitted blocks of the blob, in the order in
// which they were staged.
func (b *blob) stagedBlocks(ctx context.Context, each func(piece)) error {
	return b.engine.Query(ctx, sqlStagedBlocks, []any{b.container.id, b.ref.Blob}, func(r engine.Columns) error {
		each(piece{size: r.Int64(0), chunk: r.Int64(1), block: r.Text(2)})
		return nil
	})
}

// CommitBlocks makes a block blob of blocks, in the order of the list. Blocks
// that were staged and are not in it are gone afterwards; a block may be named
// more than once.
func (c *Catalog) CommitBlocks(ctx context.Context, ref Ref, list []BlockRef, n New, a Access) (*Item, error) {
	if err := c.checkWrite(ref); err != nil {
		return nil, err
	}
	b, err := c.lockBlob(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	s, err := b.assemble(ctx, list)
	if err != nil {
		return nil, err
	}

	made := b.make(Block, n)
	made.Size = s.size
	rows := []engine.Statement{statement(sqlDeleteBlocks, b.container.id, ref.Blob)}
	if len(s.pieces) > 0 {
		made.manifest = c.nextManifest()
		rows = append(rows, addPieces(made.manifest, s.pieces))
	}
	rows = b.replace(append(rows, changeRefs(s.refs)...), made)
	problem := cmp.Or(b.checkCreate(a.If), s.problem)

	if err := c.commit(ctx, b.change(a, problem, rows...)); err != nil {
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
func (b *blob) assemble(ctx context.Context, list []BlockRef) (*assembly, error) {
	s := &assembly{refs: map[int64]int64{}}
	switch {
	case len(list) > MaxCommitted:
		s.problem = azerr.New(azerr.BlockListTooLong)
		return s, nil
	case b.exists() && b.item.Kind != Block:
		s.problem = azerr.New(azerr.InvalidBlobType)
		return s, nil
	}
	var known [Uncommitted + 1]map[string]piece
	for i := range known {
		known[i] = map[string]piece{}
	}
	err := b.committedBlocks(ctx, func(p piece) { known[Committed][p.block], known[Latest][p.block] = p, p })
	if err == nil {
		err = b.stagedBlocks(ctx, func(p piece) {
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
