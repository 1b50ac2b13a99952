//go:build unix

package azuretest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
)

// prize is something that everybody wants the lease of.
type prize interface {
	party
	acquire(ctx context.Context, id string) error
	renew(ctx context.Context, id string) error
	release(ctx context.Context, id string) error
	free(ctx context.Context) error           // breaks the lease, whoever has it
	use(ctx context.Context, id string) error // what only the holder may do
}

// contest is a prize, and who holds it.
type contest struct {
	prize
	holder atomic.Pointer[string] // the id of whom it was acknowledged to, until that one lets go
	wins   atomic.Int64
}

// book has the wins in it, when everybody is done.
func (c *contest) book() *ledger {
	b := c.prize.book()
	b.acks["won"] = int(c.wins.Load())
	return b
}

func (c *contest) work(ctx context.Context) error {
	var all []func(context.Context) error
	for range rivals {
		all = append(all, c.compete)
	}
	return together(ctx, all)
}

// compete takes the lease, uses it and lets go, until the server dies. To hold it
// while another does is an error.
func (c *contest) compete(ctx context.Context) error {
	for {
		id := newID()
		err := c.acquire(ctx, id)
		if bloberror.HasCode(err, bloberror.LeaseAlreadyPresent) {
			continue
		}
		if err == nil {
			err = c.enjoy(ctx, &id)
		}
		if err != nil {
			return unlessGone(err)
		}
	}
}

// enjoy is what the holder does.
func (c *contest) enjoy(ctx context.Context, id *string) error {
	if !c.holder.CompareAndSwap(nil, id) {
		return fmt.Errorf("%s: the lease was given to two: %w", c.prize.book().kind, errWrong)
	}
	c.wins.Add(1)
	if err := c.use(ctx, *id); err != nil {
		return err
	}
	c.holder.Store(nil) // from now on, another may have it
	return c.release(ctx, *id)
}

// check: who was told to hold the lease, and did not begin to let go, holds it.
// Then it is free again.
func (c *contest) check(ctx context.Context) error {
	if id := c.holder.Swap(nil); id != nil {
		if err := c.renew(ctx, *id); err != nil {
			return fmt.Errorf("%s: renew of an acknowledged lease: %w", c.prize.book().kind, err)
		}
		if err := c.use(ctx, *id); err != nil {
			return fmt.Errorf("%s: use of an acknowledged lease: %w", c.prize.book().kind, err)
		}
	}
	err := c.free(ctx)
	if err != nil && !bloberror.HasCode(err, bloberror.LeaseNotPresentWithLeaseOperation) {
		return fmt.Errorf("%s: break: %w", c.prize.book().kind, err)
	}
	return nil
}
