package redis

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// scanStep is how many names are read at a time.
const scanStep = 200

// List implements leasehold.Lister. Only live leases are listed.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	if err := r.Validate(); err != nil {
		return leasehold.LeasePage{}, opError("list", "", err)
	}
	after := ""
	if r.Cursor != "" {
		var err error
		if after, err = lists.ParseCursorOf("l", r.Cursor); err != nil || leasehold.CheckResource(after) != nil {
			return leasehold.LeasePage{}, opError("list", "", lists.BadCursor())
		}
	}
	limit := r.Limit
	if limit == 0 {
		limit = leasehold.DefaultPage
	}
	if r.Resource != "" {
		return s.listOne(ctx, r, after)
	}
	leases, err := s.scan(ctx, r, after, limit+1) // one more shows whether there is another page
	if err != nil {
		return leasehold.LeasePage{}, s.readFailure("list", "", err)
	}
	page := leasehold.LeasePage{Leases: leases}
	if len(leases) > limit {
		page.Leases = leases[:limit]
		page.Cursor = lists.CursorOf("l", leases[limit-1].Resource)
	}
	return page, nil
}

// listOne lists one resource, without the index.
func (s *Store) listOne(ctx context.Context, r leasehold.ListRequest, after string) (leasehold.LeasePage, error) {
	status, err := s.Status(ctx, r.Resource)
	if err != nil {
		return leasehold.LeasePage{}, err
	}
	if status.Lease == nil || r.Resource <= after || !strings.HasPrefix(r.Resource, r.Prefix) || !matches(r, *status.Lease) {
		return leasehold.LeasePage{}, nil
	}
	return leasehold.LeasePage{Leases: []leasehold.Lease{*status.Lease}}, nil
}

// scan reads names in order until it has n leases that match.
func (s *Store) scan(ctx context.Context, r leasehold.ListRequest, after string, n int) ([]leasehold.Lease, error) {
	var found []leasehold.Lease
	from, to := "["+r.Prefix, "+"
	if r.Prefix == "" {
		from = "-"
	} else {
		to = "(" + r.Prefix + "\xff" // no name has that byte
	}
	if after >= r.Prefix && after != "" {
		from = "(" + after
	}
	for {
		step, err := s.listStep(ctx, from, to, scanStep)
		if err != nil {
			return nil, err
		}
		for _, l := range step.leases {
			if matches(r, l) {
				if found = append(found, l); len(found) == n {
					return found, nil
				}
			}
		}
		if step.names < scanStep {
			return found, nil
		}
		from = "(" + step.last
	}
}

// listPart is one step through the names.
type listPart struct {
	leases []leasehold.Lease
	names  int    // how many were read
	last   string // the last of them
}

func (s *Store) listStep(ctx context.Context, from, to string, n int) (listPart, error) {
	if !s.together {
		return s.listStepApart(ctx, from, to, n)
	}
	result, err := s.runIndex(ctx, listScript, from, to, n)
	if err != nil {
		return listPart{}, err
	}
	return parseList(result)
}

// parseList reads what list.lua returned.
func parseList(result any) (listPart, error) {
	parts, ok := result.([]any)
	if !ok || len(parts) != 4 {
		return listPart{}, fmt.Errorf("the list is %T of %d parts, want 4", result, len(parts))
	}
	text, okTime := parts[0].(string)
	last, okLast := parts[1].(string)
	names, okNames := parts[2].(int64)
	rows, okRows := parts[3].([]any)
	micros, err := strconv.ParseInt(text, 10, 64)
	if !okTime || !okLast || !okNames || !okRows || err != nil {
		return listPart{}, fmt.Errorf("the list is made of %T, %T, %T and %T", parts[0], parts[1], parts[2], parts[3])
	}
	step := listPart{names: int(names), last: last}
	for _, entry := range rows {
		l, err := parseEntry(entry, time.UnixMicro(micros))
		if err != nil {
			return listPart{}, err
		}
		step.leases = append(step.leases, l)
	}
	return step, nil
}

func parseEntry(entry any, now time.Time) (leasehold.Lease, error) {
	parts := texts(entry)
	if len(parts) < 2 {
		return leasehold.Lease{}, fmt.Errorf("an entry of the list is %T of %d parts, want a name and a lease", entry, len(parts))
	}
	r, err := parseRow(parts[1:])
	if err != nil {
		return leasehold.Lease{}, err
	}
	return r.lease(parts[0], now), nil
}

// matches compares a lease with the filters.
func matches(r leasehold.ListRequest, l leasehold.Lease) bool {
	if r.Holder != "" && l.Holder != r.Holder || len(r.States) > 0 && !slices.Contains(r.States, l.State) {
		return false
	}
	for key, value := range r.Metadata {
		if got, ok := l.Metadata[key]; !ok || got != value {
			return false
		}
	}
	return true
}
