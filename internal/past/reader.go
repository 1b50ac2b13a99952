package past

import (
	"context"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// grain is that of records' times.
const grain = time.Millisecond

// maxAhead is how far the clock of who asks, or of the store, may be ahead of this one.
const maxAhead = time.Minute

// reader reads records within its budget.
type reader struct {
	ctx   context.Context
	h     leasehold.Historian
	at    time.Time // whole milliseconds
	pages int
	until time.Time

	gaps     gaps
	retained Retained
}

// newReader reads what is needed for every moment: what was purged, and when records
// were not kept.
func newReader(ctx context.Context, h leasehold.Historian, at time.Time, opts *Options) (*reader, error) {
	if at.IsZero() {
		return nil, leasehold.Invalid("time", "is missing; want a moment")
	}
	if at.After(time.Now().Add(maxAhead)) {
		return nil, leasehold.Invalid("time", "lies in the future, which no history has")
	}
	o := Options{}
	if opts != nil {
		o = *opts
	}
	if o.Pages <= 0 {
		o.Pages = 100
	}
	if o.Time <= 0 {
		o.Time = 8 * time.Second
	}
	r := &reader{ctx: ctx, h: h, at: at.UTC().Truncate(grain), pages: o.Pages, until: time.Now().Add(o.Time)}
	purges, err := r.page(leasehold.HistoryRequest{Kind: leasehold.KindPurged, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(purges.Records) > 0 {
		r.retained.Purged = true
		r.retained.From, _ = time.Parse(time.RFC3339Nano, purges.Records[0].Details["retained_from"])
	}
	changes, _, err := r.all(leasehold.HistoryRequest{Kind: leasehold.KindConfigured}, nil)
	if err != nil {
		return nil, err
	}
	r.gaps, err = r.findGaps(changes)
	return r, err
}

// findGaps reads when records were not kept: from the changes of settings and, where the
// record of a change is purged, from the settings as they are, if the store has them.
func (r *reader) findGaps(changes []leasehold.Record) (gaps, error) {
	off := map[string]bool{}
	if c, ok := r.h.(leasehold.Configurer); ok {
		now, err := c.Settings(r.ctx)
		if err != nil && leasehold.ReasonOf(err) != leasehold.ReasonUnsupported {
			return gaps{}, err
		}
		for _, s := range now {
			off[s.Key] = s.Value == false
		}
	}
	return findGaps(changes, off), nil
}

// before asks for records at or before the moment.
func (r *reader) before() leasehold.HistoryRequest {
	return leasehold.HistoryRequest{Until: r.at.Add(grain)}
}

func (r *reader) page(q leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	r.pages--
	return r.h.History(r.ctx, q)
}

// each calls f for the records, newest first, until it returns false. Whole is false if
// the budget ended before the records did.
func (r *reader) each(q leasehold.HistoryRequest, f func(leasehold.Record) bool) (whole bool, err error) {
	if q.Limit == 0 {
		q.Limit = leasehold.MaxPage
	}
	for {
		if r.pages <= 0 || !time.Now().Before(r.until) {
			return false, nil
		}
		page, err := r.page(q)
		if err != nil {
			return false, err
		}
		for _, record := range page.Records {
			if strings.HasPrefix(record.Resource, leasehold.HealthPrefix) {
				continue
			}
			if !f(record) {
				return true, nil
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			return true, nil
		}
		q.Limit = leasehold.MaxPage
	}
}

// all reads the records for which want is true; nil: all.
func (r *reader) all(q leasehold.HistoryRequest, want func(leasehold.Record) bool) (records []leasehold.Record, whole bool, err error) {
	whole, err = r.each(q, func(record leasehold.Record) bool {
		if want == nil || want(record) {
			records = append(records, record)
		}
		return true
	})
	return records, whole, err
}

// reachesBack says whether a record at or before the moment is retained. If none is and
// old ones were purged, the moment lies before the retained history.
func (r *reader) reachesBack() (bool, error) {
	q := r.before()
	q.Limit = 1
	page, err := r.page(q)
	return len(page.Records) > 0, err
}

// windows are how far after the moment the next record is looked for, step by step:
// most often it is near, and a busy resource has very many.
var windows = []time.Duration{time.Minute, time.Hour, 24 * time.Hour, 0}

// fullWindow is how far the records after the moment are read in any case: a wait that
// went on has ended there, or does not show.
const fullWindow = time.Hour

// after reads the records of a name after the moment and after the record seq: the
// oldest of them that is about its lease, and those of ended waits. Whole is false if
// the budget ended first; then next may be a later one, and is nil.
func (r *reader) after(name string, seq uint64, waits bool) (next *leasehold.Record, ended []leasehold.Record, whole bool, err error) {
	from := r.at.Add(grain)
	q := leasehold.HistoryRequest{Resource: name, Since: from}
	for _, window := range windows {
		found := next != nil // nearer than all that this window has
		if q.Until = r.at.Add(window); window == 0 {
			q.Until = time.Time{}
		}
		whole, err = r.each(q, func(record leasehold.Record) bool {
			if record.Details["waited_ms"] != "" {
				ended = append(ended, record)
			}
			if !found && record.Seq > seq && record.Kind != leasehold.KindFailed {
				next = new(record)
			}
			return true
		})
		if err != nil || !whole {
			return nil, ended, false, err
		}
		if next != nil && (!waits || window >= fullWindow) {
			break
		}
		q.Since = q.Until
	}
	return next, ended, true, nil
}
