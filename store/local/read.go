package local

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Status implements leasehold.Store.
func (e *Engine) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	status := leasehold.Status{Resource: resource}
	if err := leasehold.CheckResource(resource); err != nil {
		return status, e.explain("status", "", err)
	}
	var last *place
	var more bool
	_, _, err := e.act(ctx, "status", func(now machine.Instant) machine.Outcome {
		row := e.table.row(resource)
		if row.State != leasehold.StateAvailable {
			lease := row.Lease(now)
			status.Lease = &lease
		}
		more = e.lineBite(resource, &status.Waiters, &last)
		return machine.Outcome{Row: row}
	})
	if err != nil {
		return leasehold.Status{Resource: resource}, err
	}
	for more {
		e.mu.Lock()
		more = e.lineBite(resource, &status.Waiters, &last)
		e.mu.Unlock()
	}
	return status, nil
}

// listShare is how much of the processors all lists may take together.
const listShare = 0.15

// lineBite goes on with the line of waiters behind last, for one hold of the
// lock, and reports whether there may be more.
func (e *Engine) lineBite(resource string, line *[]leasehold.Place, last **place) (more bool) {
	q := e.queues[resource]
	if q == nil {
		return false
	}
	places := q.after(*last)
	for _, p := range places {
		*line = append(*line, leasehold.Place{
			Holder:   p.holder,
			Priority: p.priority,
			Since:    p.waiter.arrived.WallTime(),
			Position: len(*line) + 1,
		})
		*last = p
	}
	return len(places) == bite
}

// List implements leasehold.Lister. It copies a bite at a time and never holds
// the lock for a scan. Lists take turns, so that however many there are, others
// wait for one bite at most.
func (e *Engine) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	l, err := newListing(r)
	if err != nil {
		return leasehold.LeasePage{}, e.explain("list", "", err)
	}
	var seen batches
	for !l.done && err == nil {
		var b *batch
		err = e.lists.Do(ctx, func() (err error) {
			b, err = e.listBite(ctx, l)
			return err
		})
		seen.add(b)
	}
	if err == nil {
		err = seen.durable(ctx, e)
	}
	if err != nil && leasehold.ReasonOf(err) == "" {
		err = unavailable(err) // it ended before its turn came
	}
	if err != nil {
		return leasehold.LeasePage{}, e.explain("list", "", err)
	}
	return l.page, nil
}

// listBite goes on with the listing for one hold of the lock. It returns the
// batch that what it saw depends on.
func (e *Engine) listBite(ctx context.Context, l *listing) (*batch, error) {
	if ctx.Err() != nil {
		return nil, unavailable(context.Cause(ctx))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.ready(); err != nil {
		return nil, unavailable(err)
	}
	now := e.now()
	steps := 0
	each := func(ent *entry) bool {
		steps++
		l.from = ent.row.Resource
		if steps > bite {
			return false // go on from this one
		}
		return l.add(ent.row, now)
	}
	if l.Holder != "" {
		e.table.held(l.Holder, l.from, each)
	} else {
		e.table.named(l.from, each)
	}
	l.done = l.done || steps <= bite
	return e.latest(), nil
}

// listing is a list under way.
type listing struct {
	leasehold.ListRequest
	from string // the next resource to look at
	page leasehold.LeasePage
	done bool
}

func newListing(r leasehold.ListRequest) (*listing, error) {
	if err := r.Validate(); err != nil {
		return nil, err
	}
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	if len(r.States) == 0 {
		r.States = []leasehold.State{leasehold.StateActive, leasehold.StateBreaking}
	}
	l := &listing{ListRequest: r, from: max(r.Prefix, r.Resource)}
	if r.Cursor != "" {
		from, err := parseCursor("l", r.Cursor)
		if err != nil || leasehold.CheckResource(from) != nil {
			return nil, badCursor()
		}
		l.from = max(l.from, from)
	}
	return l, nil
}

// add puts the row on the page if it fits, and says whether to go on.
func (l *listing) add(row machine.Row, now machine.Instant) bool {
	if l.Resource != "" && row.Resource != l.Resource || !strings.HasPrefix(row.Resource, l.Prefix) {
		l.done = row.Resource > l.Prefix && row.Resource > l.Resource
		return !l.done
	}
	if !l.wants(row.At(now)) {
		return true
	}
	if len(l.page.Leases) == l.Limit {
		l.page.Cursor = cursor("l", row.Resource)
		l.done = true
		return false
	}
	l.page.Leases = append(l.page.Leases, row.Lease(now))
	return true
}

func (l *listing) wants(row machine.Row) bool {
	for k, v := range l.Metadata {
		if have, ok := row.Metadata[k]; !ok || have != v {
			return false
		}
	}
	for _, s := range l.States {
		if s == row.State {
			return true
		}
	}
	return false
}

// History implements leasehold.Historian. It reads what is committed, so it
// has nothing to wait for.
func (e *Engine) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	q, err := historyQuery(r)
	if err != nil {
		return leasehold.HistoryPage{}, e.explain("history", "", err)
	}
	limit := q.Limit
	q.Limit++ // one more tells whether there is another page
	records, err := e.journal.History(ctx, q)
	if err != nil {
		return leasehold.HistoryPage{}, e.explain("history", "", unavailable(err))
	}
	page := leasehold.HistoryPage{Records: records}
	if len(records) > limit {
		page.Records = records[:limit]
		page.Cursor = cursor("h", strconv.FormatUint(records[limit-1].Seq, 10))
	}
	return page, nil
}

func historyQuery(r leasehold.HistoryRequest) (HistoryQuery, error) {
	q := HistoryQuery{
		Resource: r.Resource, Prefix: r.Prefix, Holder: r.Holder, Kind: r.Kind,
		Since: r.Since, Until: r.Until, Limit: r.Limit,
	}
	if err := r.Validate(); err != nil {
		return q, err
	}
	if q.Limit == 0 {
		q.Limit = leasehold.DefaultPage
	}
	if r.Cursor != "" {
		text, err := parseCursor("h", r.Cursor)
		if err != nil {
			return q, err
		}
		if q.Below, err = strconv.ParseUint(text, 10, 63); err != nil {
			return q, badCursor()
		}
	}
	return q, nil
}

// cursor makes an opaque cursor. The kind keeps those of lists and histories
// apart.
func cursor(kind, position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + position))
}

func parseCursor(kind, c string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(c)
	position, ours := strings.CutPrefix(string(text), kind+":")
	if err != nil || !ours || cursor(kind, position) != c { // the decoder is lenient
		return "", badCursor()
	}
	return position, nil
}

func badCursor() error {
	return &leasehold.Error{Reason: leasehold.ReasonInvalid, Field: "cursor",
		Problem: "is not one that this list gave out; start again without it"}
}
