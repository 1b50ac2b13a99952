package local

import (
	"context"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// History implements leasehold.Historian. It reads what is committed, so it
// has nothing to wait for.
func (e *Engine) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	q, err := historyQuery(r)
	if err != nil {
		return leasehold.HistoryPage{}, e.opError("history", "", err)
	}
	limit := q.Limit
	q.Limit++ // one more shows whether there is another page
	records, err := e.journal.History(ctx, q)
	if err != nil {
		return leasehold.HistoryPage{}, e.opError("history", "", unavailable(err))
	}
	page := leasehold.HistoryPage{Records: records}
	if len(records) > limit {
		page.Records = records[:limit]
		page.Cursor = lists.CursorOf("h", strconv.FormatUint(records[limit-1].Seq, 10))
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
		text, err := lists.ParseCursorOf("h", r.Cursor)
		if err != nil {
			return q, err
		}
		if q.Below, err = strconv.ParseUint(text, 10, 63); err != nil {
			return q, lists.BadCursor()
		}
	}
	return q, nil
}

// purge drops the history records past their retention or limit. One record
// says so.
func (e *Engine) purge(ctx context.Context) (int, error) {
	e.mu.Lock()
	keep, retention, after, last := e.historyLimit(), e.config.Retention, e.purged, e.purging
	e.mu.Unlock()
	if last != nil && !last.finished() {
		return 0, last.durable(ctx) // PurgePoint would count its records again
	}
	reading, _ := readClocks()
	before := time.Unix(0, reading.Wall).Add(-retention)
	through, n, err := e.journal.PurgePoint(ctx, before, keep)
	if err == nil && n > 0 && keep > 0 {
		// The record of the purge counts too: or each sweep would drop one record
		// only to write another.
		through, n, err = e.journal.PurgePoint(ctx, before, keep-1)
	}
	if err != nil {
		return 0, unavailable(err)
	}
	from, err := e.retainedFrom(ctx, through)
	if err != nil {
		return 0, unavailable(err)
	}
	b, n, err := e.purgeThrough(after, through, n, from)
	if err != nil {
		return 0, err
	}
	return n, b.durable(ctx)
}

// retainedFrom returns when the record after a purge was written: the history is whole
// from then on. Zero: there is none.
func (e *Engine) retainedFrom(ctx context.Context, through uint64) (time.Time, error) {
	oldest, err := e.journal.History(ctx, HistoryQuery{Below: through + 2, Limit: 1})
	if err != nil || len(oldest) == 0 || oldest[0].Seq != through+1 {
		return time.Time{}, err
	}
	return oldest[0].At, nil
}

// purgeThrough purges the n records after one and up to another.
func (e *Engine) purgeThrough(after, through uint64, n int, from time.Time) (*batch, int, error) {
	if err := e.lockReady(); err != nil {
		return nil, 0, err
	}
	defer e.mu.Unlock()
	// Dropping only the record of the last purge would go on for ever.
	if e.purged != after || n == 0 || n == 1 && through == e.lastPurge {
		return e.batches.latest(), 0, nil // which may be another purge
	}
	e.purged = through
	e.kept -= int64(n)
	e.purging = e.batches.pending
	e.purging.decided++
	e.purging.cleaned.HistoryPurged += n
	details := map[string]string{"count": strconv.Itoa(n), "through": strconv.FormatUint(through, 10)}
	if !from.IsZero() {
		details["retained_from"] = from.UTC().Format(time.RFC3339Nano)
	}
	e.record(leasehold.Record{At: e.clock.now().WallTime(), Kind: leasehold.KindPurged, Why: "retention", Details: details})
	e.lastPurge = e.seq
	return e.batches.pending, n, nil
}
