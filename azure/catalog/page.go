package catalog

import (
	"context"
	"math"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// PageSize is what page blobs are counted in.
const PageSize = 512

// PutPages writes n bytes of a page blob from offset on, or clears them if
// there is no upload. It takes the upload over.
func (c *Catalog) PutPages(ctx context.Context, ref Ref, offset, n int64, u *Upload, a Access) (*Item, error) {
	write := c.write
	if u == nil {
		write = c.shrink
	}
	changed, err := c.editPages(ctx, ref, a, write, func(e *edit, _ *Item) (pageChange, error) {
		return pageChange{from: offset, to: offset + n, upload: u}, checkPages(e.item, offset, n, u)
	})
	if u != nil {
		u.settle(err)
	}
	return changed, err
}

// checkPages refuses what cannot be written.
func checkPages(i *Item, offset, n int64, u *Upload) error {
	switch {
	case i.Kind != Page:
		return azerr.New(azerr.InvalidBlobType).With("only page blobs have pages")
	case offset < 0 || n <= 0 || offset%PageSize != 0 || n%PageSize != 0 || offset > i.Size || n > i.Size-offset:
		return azerr.New(azerr.InvalidPageRange)
	case u == nil:
		return nil
	case u.problem() != nil:
		return u.problem()
	case u.Size != n:
		return azerr.New(azerr.InvalidHeaderValue).With("the body has %d bytes, and the range %d", u.Size, n)
	}
	return nil
}

// Resize changes the size of a page blob. What is cut off is gone; what is
// added is zeros.
func (c *Catalog) Resize(ctx context.Context, ref Ref, size int64, a Access) (*Item, error) {
	return c.editPages(ctx, ref, a, c.shrink, func(e *edit, changed *Item) (pageChange, error) {
		switch {
		case e.item.Kind != Page:
			return pageChange{}, azerr.New(azerr.InvalidBlobType).With("only page blobs can be resized")
		case size < 0 || size > MaxPageBlob || size%PageSize != 0:
			return pageChange{}, azerr.New(azerr.InvalidHeaderValue).With("the size of a page blob must be a multiple of %d, up to 8 TiB", PageSize)
		}
		changed.Size = size
		return pageChange{from: size, to: max(size, e.item.Size)}, nil
	})
}

// editPages changes a page blob by write or shrink. Plan says which bytes change, and may change
// the item; what it refuses is told after the lease and the conditions were
// asked.
func (c *Catalog) editPages(ctx context.Context, ref Ref, a Access,
	write func(context.Context, Ref, func(*edit) error) error, plan func(*edit, *Item) (pageChange, error),
) (*Item, error) {
	var changed Item
	err := write(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return azerr.New(azerr.BlobNotFound)
		}
		changed = *e.item
		changed.Ticks = e.now()
		p, problem := plan(e, &changed)
		var statements []engine.Statement
		if problem == nil {
			var err error
			if statements, err = e.changePages(ctx, &changed, p); err != nil {
				return err
			}
		}
		statements = append(statements, changed.put(e.container.id))
		judge := func() error { return e.judgePages(a, problem) }
		return e.decideIf(ctx, a, judge, engine.Decision{Extras: statements})
	})
	if err != nil {
		return nil, err
	}
	return &changed, nil
}

func (e *edit) judgePages(a Access, problem error) error {
	if err := e.judge(a); err != nil {
		return err
	}
	if problem != nil {
		return problem
	}
	return a.If.judgeSequence(e.item.Sequence)
}

// SetSequence changes the sequence number of a page blob, for Modify: to the
// larger of it and the number ("max"), to the number ("update"), or to the next
// one ("increment", without a number).
func (i *Item) SetSequence(action string, number *int64) error {
	switch {
	case i.Kind != Page:
		return azerr.New(azerr.InvalidBlobType).With("only page blobs have a sequence number")
	case action == "increment" && number != nil:
		return azerr.New(azerr.InvalidHeaderValue).With("a sequence number that is incremented must not be given")
	case action == "increment" && i.Sequence == math.MaxInt64:
		return azerr.New(azerr.SequenceNumberIncrementTooLarge)
	case action == "increment":
		i.Sequence++
		return nil
	case action != "max" && action != "update":
		return azerr.New(azerr.InvalidHeaderValue).With("%q is no action on a sequence number; send max, update or increment", action)
	case number == nil:
		return azerr.New(azerr.MissingRequiredHeader).With("the sequence number is missing")
	case *number < 0:
		return azerr.New(azerr.InvalidInput).With("the sequence number must not be negative")
	case action == "max":
		i.Sequence = max(i.Sequence, *number)
		return nil
	}
	i.Sequence = *number
	return nil
}
