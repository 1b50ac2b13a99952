package cas

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Find implements leasehold.Finder.
func (s *Store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	if err := (leasehold.RenewRequest{ID: id}).Validate(); err != nil {
		return leasehold.Lease{}, s.failures.Invalid("find", "", err)
	}
	return s.byShownID(ctx, "find", id, func(resource string) (leasehold.Lease, error) {
		row, now, err := s.read(ctx, "find", resource)
		if err != nil {
			return leasehold.Lease{}, err
		}
		if row.ID != id {
			return leasehold.Lease{}, s.failures.New("find", "", leasehold.ReasonNotFound, nil)
		}
		return s.owned(result{machine.Outcome{Row: row}, now}), nil
	})
}

// byShownID makes a call whose caller shows only an id: where this store has
// written it, and if it is not there any more, where a query finds it.
func (s *Store) byShownID(ctx context.Context, op string, id leasehold.ID, call func(resource string) (leasehold.Lease, error)) (leasehold.Lease, error) {
	finder, ok := s.backend.(Finder)
	if !ok {
		return leasehold.Lease{}, s.failures.New(op, "", leasehold.ReasonUnsupported, nil)
	}
	here, ok := s.known.Resource(id)
	if ok {
		if l, err := call(here); leasehold.ReasonOf(err) != leasehold.ReasonNotFound {
			return l, err
		}
	}
	item, err := s.findItem(ctx, finder, op, id)
	if err != nil {
		return leasehold.Lease{}, err
	}
	return call(item.Row.Resource)
}

// findItem finds the item of an id.
func (s *Store) findItem(ctx context.Context, finder Finder, op string, id leasehold.ID) (Item, error) {
	if err := s.calls.Start(op, ""); err != nil {
		return Item{}, err
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	items, err := finder.Find(ctx, id)
	if err != nil {
		return Item{}, s.failures.Read(ctx, op, "", err)
	}
	best, ok := bestMatch(items, id)
	if !ok {
		return Item{}, s.failures.New(op, "", leasehold.ReasonNotFound, nil)
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

// lookup returns the row of another resource by which the store knows a proposed
// id, if any.
func (s *Store) lookup(ctx context.Context, op operation, now machine.Instant) (*machine.Row, error) {
	finder, ok := s.backend.(Finder)
	if !ok {
		return nil, nil
	}
	items, err := finder.Find(ctx, op.proposed)
	if err != nil {
		return nil, s.failures.Read(ctx, op.name, op.resource, err)
	}
	if resource, ok := s.known.Resource(op.proposed); ok { // the query may not see it yet
		item, err := s.backend.Load(ctx, resource)
		if err != nil {
			return nil, s.failures.Read(ctx, op.name, op.resource, err)
		}
		items = append(items, item)
	}
	items = slices.DeleteFunc(items, func(item Item) bool { return item.Row.Resource == op.resource })
	best, ok := bestMatch(items, op.proposed)
	if !ok {
		return nil, nil
	}
	row := remembered(best.Row, best.Row.Resource, now)
	return &row, nil
}
