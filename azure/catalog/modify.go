package catalog

import (
	"cmp"
	"context"
	"maps"
	"math"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Modify changes what an existing item has beside its content: headers,
// metadata, tags, tier, sequence number. Edit gets the item to work on, and may
// refuse; it is called once, under the blob's lock. If touch is set the item gets
// a new ETag. Of a snapshot only the tier may change.
func (c *Catalog) Modify(ctx context.Context, ref Ref, a Access, touch bool, edit func(*Item) error) (*Item, error) {
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	b, err := c.lockExisting(ctx, ref)
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	made, problem := b.edited(edit)
	if touch {
		made.Ticks = b.now()
	}
	rows := []engine.Statement{made.put(b.container.id)}
	if !ref.IsSnapshot() {
		rows = append(rows, b.retag(made.Tags)...)
	}
	if err := c.commit(ctx, b.change(a, cmp.Or(b.check(a.If), problem), rows...)); err != nil {
		return nil, err
	}
	return made, nil
}

// edited applies an edit to a copy of the item, and keeps out of it what is not
// the caller's.
func (b *blob) edited(edit func(*Item) error) (*Item, error) {
	item := *b.item
	item.Metadata, item.Tags = maps.Clone(item.Metadata), maps.Clone(item.Tags)
	if err := edit(&item); err != nil {
		return &item, err
	}
	details := item.Details
	item = *b.item
	item.Details = details
	item.LastSnapshot, item.Of = b.item.LastSnapshot, b.item.Of
	if b.ref.IsSnapshot() && !sameButTier(item, *b.item) {
		return &item, azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot never changes, but for its tier")
	}
	return &item, nil
}

// sameButTier reports whether two versions differ in nothing but the tier.
func sameButTier(a, b Item) bool {
	a.Tier, a.TierChanged = b.Tier, b.TierChanged
	return string(encode(a.Details)) == string(encode(b.Details))
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
