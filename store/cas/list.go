package cas

import (
	"context"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// List implements leasehold.Lister.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	after, err := s.listFrom(r)
	if err != nil {
		return leasehold.LeasePage{}, s.failures.Invalid("list", "", err)
	}
	if err := s.calls.Start("list", ""); err != nil {
		return leasehold.LeasePage{}, err
	}
	defer s.calls.Done()
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	page, err := s.listPage(ctx, r, after)
	if err != nil {
		return leasehold.LeasePage{}, s.failures.Read(ctx, "list", "", err)
	}
	return page, nil
}

// listFrom validates the request and returns the name that its page comes after.
func (s *Store) listFrom(r leasehold.ListRequest) (after string, err error) {
	if err := r.Validate(); err != nil || r.Cursor == "" {
		return "", err
	}
	return lists.ParseCursor(r.Cursor)
}

// listPage scans until the page is full and one more lease is there.
func (s *Store) listPage(ctx context.Context, r leasehold.ListRequest, after string) (page leasehold.LeasePage, err error) {
	for {
		items, more, err := s.scan(ctx, r, after)
		if err != nil {
			return leasehold.LeasePage{}, err
		}
		shown, err := s.shown(ctx, r, items)
		if err != nil {
			return leasehold.LeasePage{}, err
		}
		for _, item := range shown {
			l, _ := s.listed(r, item)
			if len(page.Leases) == r.Limit {
				page.Cursor = lists.Cursor(page.Leases[r.Limit-1].Resource)
				return page, nil
			}
			page.Leases = append(page.Leases, l)
		}
		if !more {
			return page, nil
		}
		after = items[len(items)-1].Row.Resource
	}
}

// scan reads the next items, and reports whether there may be more.
func (s *Store) scan(ctx context.Context, r leasehold.ListRequest, after string) (items []Item, more bool, err error) {
	if r.Resource == "" {
		n := r.Limit + 1
		items, err = s.backend.Scan(ctx, r.Prefix, after, n)
		return items, len(items) == n, err
	}
	item, err := s.backend.Load(ctx, r.Resource)
	if err != nil || item.Version == "" || r.Resource <= after || !strings.HasPrefix(r.Resource, r.Prefix) {
		return nil, false, err
	}
	return []Item{item}, false, nil
}

// shown are the items that the request's filters let through, with their ends.
func (s *Store) shown(ctx context.Context, r leasehold.ListRequest, items []Item) ([]Item, error) {
	var shown []Item
	for _, item := range items {
		if _, ok := s.listed(r, item); ok {
			shown = append(shown, item)
		}
	}
	return shown, s.fillEnds(ctx, shown)
}

// listed returns the item's lease if the request's filters let it through.
func (s *Store) listed(r leasehold.ListRequest, item Item) (leasehold.Lease, bool) {
	now := instant(item.Now)
	l := s.lease(remembered(item.Row, item.Row.Resource, now), now)
	return l, (r.Holder == "" || l.Holder == r.Holder) && lists.Matches(r, l.State, l.Metadata)
}
