package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Reset deletes everything of an account, or of every one if account is empty,
// leased or not: containers, blobs, service properties, and the bytes of all
// that nobody is reading. What is made while it runs may stay.
func (c *Catalog) Reset(ctx context.Context, account string) error {
	var all []Ref
	const sql = `SELECT account, name FROM blob_containers WHERE ?1 IN ('', account)`
	err := c.engine.Query(ctx, sql, []any{account}, func(r engine.Columns) error {
		all = append(all, Ref{Account: r.Text(0), Container: r.Text(1)})
		return nil
	})
	if err != nil {
		return err
	}
	for _, ref := range all {
		if err := c.destroy(ctx, ref); err != nil {
			return err
		}
	}
	if err := c.settle(ctx, do(`DELETE FROM blob_accounts WHERE ?1 IN ('', account)`, account)); err != nil {
		return err
	}
	return c.collect(ctx)
}

// destroy deletes a container whatever its lease says.
func (c *Catalog) destroy(ctx context.Context, ref Ref) error {
	defer c.containerLocks.lock(ref.path())()
	row, err := c.container(ctx, ref)
	switch {
	case isFault(err, azerr.ContainerNotFound):
		return c.finishDeletion(ctx, ref)
	case err != nil:
		return err
	}
	return c.obliterate(ctx, ref, row, func(engine.View) error { return nil })
}
