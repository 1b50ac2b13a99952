package catalog

import (
	"cmp"
	"context"
	"sync"

	"github.com/leasehold/leasehold/engine"
)

// blockCounts are upper bounds of how many uncommitted blocks blobs have.
// Counting them for every block would take a time that grows with their square.
// A bound only grows; whoever reaches the limit counts.
type blockCounts struct {
	mu     sync.Mutex
	bounds map[string]int64
	limit  int64 // zero: MaxUncommitted
}

func (b *blockCounts) most() int64 { return cmp.Or(b.limit, MaxUncommitted) }

// maxCounted bounds the memory: beyond it, all is forgotten and counted anew.
const maxCounted = 10_000

// add takes one more block into account, if the blob's bound is known.
func (b *blockCounts) add(path string) (bound int64, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if bound, known = b.bounds[path]; known {
		bound++
		b.bounds[path] = bound
	}
	return bound, known
}

func (b *blockCounts) set(path string, bound int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bounds == nil || len(b.bounds) >= maxCounted {
		b.bounds = map[string]int64{}
	}
	b.bounds[path] = max(bound, b.bounds[path])
}

// tooManyBlocks reports whether the blob has as many uncommitted blocks as it
// may have. It takes one more into account.
func (e *edit) tooManyBlocks(ctx context.Context) (bool, error) {
	path := e.ref.path()
	if bound, known := e.blockCounts.add(path); known && bound <= e.blockCounts.most() {
		return false, nil
	}
	var n int64
	const sql = `SELECT count(*) FROM blob_blocks WHERE container = ? AND name = ?`
	_, err := e.one(ctx, sql, []any{e.container.id, e.ref.Blob}, func(r engine.Columns) { n = r.Int64(0) })
	if err != nil {
		return false, err
	}
	e.blockCounts.set(path, n+1)
	return n >= e.blockCounts.most(), nil
}
