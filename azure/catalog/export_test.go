package catalog

import "context"

// Collect does at once what the collector does in its own time.
func (c *Catalog) Collect(ctx context.Context) error {
	if _, err := c.expire(ctx); err != nil {
		return err
	}
	return c.collect(ctx)
}

// RemoveFree is what the collector deletes chunks with.
var RemoveFree = []string{recountSQL, removeSQL}

// CheckBlockID is checkBlockID.
func CheckBlockID(block string) error { return checkBlockID(block) }

// Blocks of this many pieces are collected in one commit.
const PieceBite = pieceBite

// LimitUncommitted makes a blob full with fewer blocks than Azure's.
func (c *Catalog) LimitUncommitted(n int64) { c.blockCounts.limit = n }
