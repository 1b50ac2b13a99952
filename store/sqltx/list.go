package sqltx

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// listPage is how many rows a list reads at a time.
const listPage = 1000

// List implements leasehold.Lister.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	q := ListQuery{
		Resource: r.Resource, Prefix: r.Prefix, Holder: r.Holder, Limit: listPage,
		Live: !slices.ContainsFunc(r.States, func(state leasehold.State) bool { return !state.Locked() }),
	}
	err := r.Validate()
	if err == nil && r.Cursor != "" {
		q.After, err = lists.ParseCursor(r.Cursor)
	}
	if err != nil {
		return leasehold.LeasePage{}, s.failures.Invalid("list", "", err)
	}
	if _, err := s.read(ctx, "list", Need{}); err != nil {
		return leasehold.LeasePage{}, err // or its leases have left
	}
	if err := s.calls.Start("list", ""); err != nil {
		return leasehold.LeasePage{}, err
	}
	defer s.calls.Done()
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	page, err := s.fillPage(ctx, r, q)
	if err != nil {
		return leasehold.LeasePage{}, s.failures.Read(ctx, "list", "", err)
	}
	return page, nil
}

// fillPage reads until the page is full and one more lease is there.
func (s *Store) fillPage(ctx context.Context, r leasehold.ListRequest, q ListQuery) (page leasehold.LeasePage, err error) {
	if len(r.Metadata) == 0 && q.Live {
		q.Limit = r.Limit + 1
	}
	for {
		rows, now, err := s.db.List(ctx, q)
		if err != nil {
			return leasehold.LeasePage{}, err
		}
		for _, row := range rows {
			shown := remembered(row, now).At(now)
			if !lists.Matches(r, shown.State, shown.Metadata) {
				continue
			}
			if len(page.Leases) == r.Limit {
				page.Cursor = lists.Cursor(page.Leases[r.Limit-1].Resource)
				return page, nil
			}
			page.Leases = append(page.Leases, row.Lease(now))
		}
		if len(rows) < q.Limit {
			return page, nil
		}
		q.After = rows[len(rows)-1].Resource
	}
}
