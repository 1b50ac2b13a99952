package catalog

import (
	"context"
	"maps"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
)

// Modify changes what an existing item has beside its content: headers,
// metadata, tags, tier, sequence number. Change gets the item to work on, and
// may refuse; it is called once, under the blob's lock. If touch is set the
// item gets a new ETag. Of a snapshot only the tier may change.
func (c *Catalog) Modify(ctx context.Context, ref Ref, a Access, touch bool, change func(*Item) error) (*Item, error) {
	if err := c.room(); err != nil {
		return nil, err
	}
	var made *Item
	err := c.edit(ctx, ref, func(e *edit) error {
		if !e.exists() {
			return azerr.New(azerr.BlobNotFound)
		}
		item, problem := e.changed(change)
		if touch {
			item.Ticks = e.now()
		}
		made = item
		statements := []engine.Statement{item.put(e.container.id)}
		if !ref.IsSnapshot() {
			statements = append(statements, e.retag(item.Tags)...)
		}
		judge := func() error {
			if err := e.judge(a); err != nil {
				return err
			}
			return problem
		}
		return e.decideIf(ctx, a, judge, engine.Decision{Extras: statements})
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// changed applies a change to a copy of the item, and keeps out of it what is
// not the caller's.
func (e *edit) changed(change func(*Item) error) (*Item, error) {
	item := *e.item
	item.Metadata, item.Tags = maps.Clone(item.Metadata), maps.Clone(item.Tags)
	if err := change(&item); err != nil {
		return &item, err
	}
	details := item.Details
	item = *e.item
	item.Details = details
	item.LastSnapshot, item.Of = e.item.LastSnapshot, e.item.Of
	if e.ref.IsSnapshot() && !sameButTier(item, *e.item) {
		return &item, azerr.New(azerr.InvalidQueryParameterValue).With("a snapshot never changes, but for its tier")
	}
	return &item, nil
}

// sameButTier reports whether two versions differ in nothing but the tier.
func sameButTier(a, b Item) bool {
	a.Tier, a.TierChanged = b.Tier, b.TierChanged
	return string(encode(a.Details)) == string(encode(b.Details))
}
