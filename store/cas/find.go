package cas

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Find implements leasehold.Finder.
func (s *Store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	if err := (leasehold.RenewRequest{ID: id}).Validate(); err != nil {
		return leasehold.Lease{}, s.invalid("find", "", err)
	}
	item, err := s.findItem(ctx, "find", id)
	if err != nil {
		return leasehold.Lease{}, err
	}
	row, now, err := s.read(ctx, "find", item.Row.Resource)
	if err != nil {
		return leasehold.Lease{}, err
	}
	if row.ID != id {
		return leasehold.Lease{}, s.failure("find", "", leasehold.ReasonNotFound, nil)
	}
	return s.owned(result{machine.Outcome{Row: row}, now}), nil
}

// findItem finds the item of a caller who shows only an id.
func (s *Store) findItem(ctx context.Context, op string, id leasehold.ID) (Item, error) {
	finder, ok := s.backend.(Finder)
	if !ok {
		return Item{}, s.failure(op, "", leasehold.ReasonUnsupported, nil)
	}
	if err := s.start(op, ""); err != nil {
		return Item{}, err
	}
	defer s.running.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	items, err := finder.Find(ctx, id)
	if err != nil {
		return Item{}, s.readError(ctx, op, "", err)
	}
	best, ok := bestMatch(items, id)
	if !ok {
		return Item{}, s.failure(op, "", leasehold.ReasonNotFound, nil)
	}
	return best, nil
}

// bestMatch prefers the item where the id is live, then one where it was last.
func bestMatch(items []Item, id leasehold.ID) (best Item, ok bool) {
	score := 0
	for _, item := range items {
		row := remembered(item.Row, item.Row.Resource, instant(item.Now))
		n := 0
		switch {
		case row.ID == id && row.At(instant(item.Now)).State.Locked():
			n = 3
		case row.ID == id:
			n = 2
		case row.Former == id:
			n = 1
		}
		if n > score {
			best, score = item, n
		}
	}
	return best, score > 0
}

// lookup returns the row by which the store knows a proposed id, if any: the
// operation's own row, which is new, or what the backend finds.
func (s *Store) lookup(ctx context.Context, op operation, own machine.Row, now machine.Instant) (*machine.Row, error) {
	id := op.proposed
	if id.IsZero() {
		return nil, nil
	}
	if own.ID == id {
		return &own, nil
	}
	if finder, ok := s.backend.(Finder); ok {
		items, err := finder.Find(ctx, id)
		if err != nil {
			return nil, s.readError(ctx, op.name, own.Resource, err)
		}
		others := items[:0:0]
		for _, item := range items {
			if item.Row.Resource != own.Resource {
				others = append(others, item)
			}
		}
		if best, ok := bestMatch(others, id); ok {
			row := remembered(best.Row, best.Row.Resource, now)
			return &row, nil
		}
	}
	if own.Former == id {
		return &own, nil
	}
	return nil, nil
}
