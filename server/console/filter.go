package console

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// pageRows is how many leases a page of the table has.
const pageRows = 200

// filter is what the table shows, as its address says.
type filter struct {
	Prefix, Holder string
	Pairs          []string // key=value
	Cursor         string
}

func readFilter(q url.Values) filter {
	f := filter{Prefix: q.Get("prefix"), Holder: q.Get("holder"), Cursor: q.Get("cursor")}
	for _, pair := range q["metadata"] {
		if pair != "" && !slices.Contains(f.Pairs, pair) {
			f.Pairs = append(f.Pairs, pair)
		}
	}
	return f
}

// Used reports whether anything is filtered.
func (f filter) Used() bool { return f.Prefix != "" || f.Holder != "" || len(f.Pairs) > 0 }

// values are the filter as fields of an address.
func (f filter) values() url.Values {
	q := url.Values{}
	for key, value := range map[string]string{"prefix": f.Prefix, "holder": f.Holder, "cursor": f.Cursor} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if len(f.Pairs) > 0 {
		q["metadata"] = f.Pairs
	}
	return q
}

// request returns the filter as the store has it.
func (f filter) request() (leasehold.ListRequest, error) {
	r := leasehold.ListRequest{Prefix: f.Prefix, Holder: f.Holder, Cursor: f.Cursor, Limit: pageRows}
	for _, pair := range f.Pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return r, leasehold.Invalid("metadata", "%.64q has no =; write it as key=value", pair)
		}
		if r.Metadata == nil {
			r.Metadata = map[string]string{}
		}
		if _, twice := r.Metadata[key]; twice {
			return r, leasehold.Invalid("metadata", "names %.64q with two values; no lease has both", key)
		}
		r.Metadata[key] = value
	}
	return r, r.ValidateAll()
}

// matches reports whether the table shows a lease.
func matches(r leasehold.ListRequest, l leasehold.Lease) bool {
	if !l.State.Locked() || !strings.HasPrefix(l.Resource, r.Prefix) || r.Holder != "" && r.Holder != l.Holder {
		return false
	}
	for key, value := range r.Metadata {
		if got, ok := l.Metadata[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// total is how many leases a filter matches. More says that there are more than were
// counted.
type total struct {
	Leases int
	More   bool
}

const (
	maxCounted = 20_000
	totalLife  = 2 * time.Second
)

// errPartial comes with a count that is not finished.
var errPartial = errors.New("not all were counted in time")

// countBudget is how long a page waits for its count; its stream brings the whole one.
const countBudget = 150 * time.Millisecond

// count counts the leases of all pages, as far as that is done within the budget.
func (v *visit) count(r leasehold.ListRequest, budget time.Duration) (total, error) {
	key, err := json.Marshal([]any{r.Prefix, r.Holder, slices.Sorted(maps.Keys(r.Metadata)), r.Metadata})
	if err != nil {
		return total{}, err
	}
	n, err := v.s.totals.of(string(key)).get(totalLife, func() (total, error) { return v.countNow(r, budget) })
	if err == errPartial {
		return n, nil
	}
	return n, err
}

func (v *visit) countNow(r leasehold.ListRequest, budget time.Duration) (n total, err error) {
	started := time.Now()
	lister, ok := v.s.store.(leasehold.Lister)
	if !ok {
		return n, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "list"}
	}
	ctx, cancel := context.WithTimeoutCause(v.ctx, v.s.o.StoreTimeout, errTimeout)
	defer cancel()
	r.Cursor, r.Limit = "", leasehold.MaxPage
	for {
		page, err := lister.List(ctx, r)
		if err != nil {
			return n, err
		}
		n.Leases += len(page.Leases)
		if page.Cursor == "" {
			return n, nil
		}
		if n.Leases >= maxCounted {
			n.More = true
			return n, nil
		}
		if time.Since(started) > budget {
			n.More = true
			return n, errPartial
		}
		r.Cursor = page.Cursor
	}
}
