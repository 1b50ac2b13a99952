package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

const (
	// stagedTTL is how long the uncommitted blocks of a blob stay after the last
	// of them came, as in Azure.
	stagedTTL = 7 * 24 * time.Hour

	// purgeEvery is how often blocks are looked for whose time has come. It
	// reads every row of an uncommitted block, so it is not done at every turn
	// of the collector.
	purgeEvery = time.Hour

	// purgeBite is how many blobs are looked up at once.
	purgeBite = 100
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
		if failed != nil || len(due) < purgeBite {
			return failed
		}
	}
}

// abandoned returns blobs whose uncommitted blocks are all that old.
func (c *Catalog) abandoned(ctx context.Context, old int64) ([]Ref, error) {
	const sql = `SELECT c.account, c.name, b.name
		FROM (SELECT container, name, max(staged) AS last FROM blob_blocks GROUP BY container, name) b
		JOIN blob_containers c ON c.id = b.container WHERE b.last <= ? AND NOT c.deleting LIMIT ? + 0`
	var due []Ref
	err := c.engine.Query(ctx, sql, []any{old, int64(purgeBite)}, func(r engine.Columns) error {
		due = append(due, Ref{Account: r.Text(0), Container: r.Text(1), Blob: r.Text(2)})
		return nil
	})
	return due, err
}

func (c *Catalog) purgeStagedOf(ctx context.Context, ref Ref, old int64) error {
	err := c.edit(ctx, ref, func(e *edit) error {
		var last int64
		const sql = `SELECT max(staged) FROM blob_blocks WHERE container = ? AND name = ?`
		_, err := e.one(ctx, sql, []any{e.container.id, ref.Blob}, func(r engine.Columns) { last = r.Int64(0) })
		if err != nil || last > old {
			return err // one more was staged meanwhile
		}
		statements := dropBlocks(e.container.id, ref.Blob)
		if e.item != nil && !e.item.Committed {
			statements = append(statements, e.item.remove(e.container.id))
		}
		return c.settle(ctx, statements...)
	})
	if isFault(err, azerr.ContainerNotFound) {
		return nil // gone, with all of it
	}
	return err
}
