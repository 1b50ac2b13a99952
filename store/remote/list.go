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
	if err := r.Validate(); err != nil {
		return leasehold.LeasePage{}, explain("list", "", err)
	}
	q := query{path: "/v1/leases"}
	q.add("resource", r.Resource)
	q.add("prefix", r.Prefix)
	q.add("holder", r.Holder)
	for _, state := range r.States {
		q.add("status", state.String())
	}
	for k, v := range r.Metadata {
		q.put("metadata."+k, v)
	}
	q.page(r.Limit, r.Cursor)
	c := call{op: "list", effect: reads, method: http.MethodGet, target: q.String()}
	var w wire.Leases
	if err := s.do(ctx, c, &w); err != nil {
		return leasehold.LeasePage{}, err
	}
	page, err := w.Page()
	if err != nil {
		return leasehold.LeasePage{}, s.failure(ctx, c, errNonsense)
	}
	return page, nil
}

// History implements leasehold.Historian.
func (s *Store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if err := r.Validate(); err != nil {
		return leasehold.HistoryPage{}, explain("history", "", err)
	}
	q := query{path: "/v1/history"}
	q.add("resource", r.Resource)
	q.add("prefix", r.Prefix)
	q.add("holder", r.Holder)
	q.add("event", string(r.Kind))
	q.time("since", r.Since)
	q.time("until", r.Until)
	q.page(r.Limit, r.Cursor)
	c := call{op: "history", effect: reads, method: http.MethodGet, target: q.String()}
	var w wire.History
	if err := s.do(ctx, c, &w); err != nil {
		return leasehold.HistoryPage{}, err
	}
	page, err := w.Page()
	if err != nil {
		return leasehold.HistoryPage{}, s.failure(ctx, c, errNonsense)
	}
	return page, nil
}

// query builds a path with a query.
type query struct {
	path string
	text strings.Builder
}

// add adds a parameter unless it is empty, which means that it does not filter.
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
