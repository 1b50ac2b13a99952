package remote

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// List implements leasehold.Lister.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	if err := r.ValidateAll(); err != nil {
		return leasehold.LeasePage{}, localError("list", "", err)
	}
	q := &query{path: "/v1/leases"}
	q.filter(r.Resource, r.Prefix, r.Holder)
	q.add("namespace", r.Namespace)
	q.add("path", r.Path)
	for _, state := range r.States {
		q.add("status", state.String())
	}
	for k, v := range r.Metadata {
		q.put("metadata."+k, v)
	}
	q.page(r.Limit, r.Cursor)
	return page[wire.Leases](ctx, s, "list", q)
}

// History implements leasehold.Historian.
func (s *Store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if err := r.Validate(); err != nil {
		return leasehold.HistoryPage{}, localError("history", "", err)
	}
	q := &query{path: "/v1/history"}
	q.filter(r.Resource, r.Prefix, r.Holder)
	q.add("event", string(r.Kind))
	q.time("since", r.Since)
	q.time("until", r.Until)
	q.page(r.Limit, r.Cursor)
	return page[wire.History](ctx, s, "history", q)
}

// Waits implements leasehold.WaitLister.
func (s *Store) Waits(ctx context.Context, limit int) (leasehold.WaitList, error) {
	if err := leasehold.CheckPageLimit(limit); err != nil {
		return leasehold.WaitList{}, localError("waits", "", err)
	}
	q := &query{path: "/v1/waits"}
	q.page(limit, "")
	return page[wire.Waits](ctx, s, "waits", q)
}

// page reads one page. Its JSON has the type W.
func page[W interface{ Page() (P, error) }, P any](ctx context.Context, s *Store, op string, q *query) (P, error) {
	c := &call{op: op, effect: reads, method: http.MethodGet, target: q.String()}
	var w W
	var none P
	if err := s.send(ctx, c, &w); err != nil {
		return none, err
	}
	p, err := w.Page()
	if err != nil {
		return none, s.failure(ctx, c, errNonsense)
	}
	return p, nil
}

// query builds a path with a query.
type query struct {
	path string
	text strings.Builder
}

// add adds a parameter unless it is empty: then it does not filter.
func (q *query) add(key, value string) {
	if value != "" {
		q.put(key, value)
	}
}

func (q *query) put(key, value string) {
	if q.text.Len() > 0 {
		q.text.WriteByte('&')
	}
	q.text.WriteString(url.QueryEscape(key))
	q.text.WriteByte('=')
	q.text.WriteString(url.QueryEscape(value))
}

func (q *query) filter(resource, prefix, holder string) {
	q.add("resource", resource)
	q.add("prefix", prefix)
	q.add("holder", holder)
}

func (q *query) time(key string, t time.Time) {
	if !t.IsZero() {
		q.put(key, t.UTC().Format(time.RFC3339Nano))
	}
}

func (q *query) page(limit int, cursor string) {
	if limit > 0 {
		q.put("limit", strconv.Itoa(limit))
	}
	q.add("cursor", cursor)
}

func (q *query) String() string {
	if q.text.Len() == 0 {
		return q.path
	}
	return q.path + "?" + q.text.String()
}
