package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/sqltx"
)

// horizon is up to which number the history is decided: every transaction that drew
// a smaller one has ended. Sequences are not in commit order, so without it a reader
// would pass over a record that appears later.
type horizon struct {
	mu      sync.Mutex
	decided uint64
	open    []reading // oldest first
}

// reading is a number that was drawn before a transaction id was given out: it is
// decided when all transactions before that id have ended.
type reading struct {
	drawn uint64
	next  int64
}

// waitDecided is how long a reader waits for transactions under way that have drawn a
// number. After that it shows what is decided.
const waitDecided = 2 * time.Second

// decidedUpTo returns a number up to which the history is decided: mostly that of the
// newest record of an operation that was answered before the call.
func (d *db) decidedUpTo(ctx context.Context) (uint64, error) {
	drawn, decided, err := d.readDrawn(ctx)
	if err != nil || decided >= drawn.drawn {
		return decided, err
	}
	r := &reader{db: d, reading: drawn}
	for started, wait := time.Now(), time.Millisecond; ; wait = min(2*wait, 50*time.Millisecond) {
		decided, err := r.look(ctx)
		if err != nil || decided >= r.drawn || time.Since(started) > waitDecided {
			return decided, err
		}
		if !sleep.For(ctx, wait) {
			return 0, context.Cause(ctx)
		}
	}
}

// reader waits until the numbers up to the last one drawn are decided.
type reader struct {
	*db
	reading
	looks   int
	drawers []string // transactions that had drawn a number when it first asked
}

// look returns up to which number the history is decided now. The snapshot is the
// cheaper answer, but any long transaction of any program holds it up; so the second
// question is who has drawn a number and has not ended.
func (r *reader) look(ctx context.Context) (uint64, error) {
	var oldest int64
	if err := r.row(ctx, r.pool, "snapshot").Scan(&oldest); err != nil {
		return 0, err
	}
	decided := r.horizon.note(r.reading, oldest)
	if r.looks++; decided >= r.drawn || r.looks < 3 {
		return decided, nil
	}
	var drawers []string
	if err := r.row(ctx, r.pool, "drawers").Scan(&drawers); err != nil {
		return 0, err
	}
	if r.looks == 3 {
		r.drawers = drawers
	}
	if slices.ContainsFunc(r.drawers, func(one string) bool { return slices.Contains(drawers, one) }) {
		return decided, nil
	}
	return r.horizon.decide(r.drawn), nil
}

// decide notes that all numbers up to this one are decided.
func (h *horizon) decide(drawn uint64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decided = max(h.decided, drawn)
	return h.decided
}

// readDrawn reads what was drawn, and what of it was known to be decided before.
func (d *db) readDrawn(ctx context.Context) (r reading, decided uint64, err error) {
	decided = d.horizon.known()
	if err = d.row(ctx, d.pool, "drawn", int64(decided)).Scan(&r.drawn, &r.next); err != nil || r.drawn >= decided {
		return r, decided, err
	}
	d.horizon.forget() // the server has been set back, as by a failover: watchers start anew
	err = d.row(ctx, d.pool, "drawn", 0).Scan(&r.drawn, &r.next)
	return r, 0, err
}

func (h *horizon) known() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.decided
}

func (h *horizon) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.decided, h.open = 0, nil
}

// note adds a reading, drops those that are decided because no transaction before
// oldest is under way, and returns up to where that is. Readings whose ids are larger
// than that of a later one are of a server that was set back.
func (h *horizon) note(r reading, oldest int64) uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.open)
	for n > 0 && h.open[n-1].drawn <= r.drawn && h.open[n-1].next > r.next {
		n--
	}
	h.open = h.open[:n]
	if n == 0 || h.open[n-1].drawn < r.drawn {
		h.open = append(h.open, r)
	}
	for len(h.open) > 0 && h.open[0].next <= oldest {
		h.decided = max(h.decided, h.open[0].drawn)
		h.open = h.open[1:]
	}
	return h.decided
}

// Records implements sqltx.DB.
func (d *db) Records(ctx context.Context, q sqltx.RecordQuery) ([]leasehold.Record, error) {
	last, err := d.decidedUpTo(ctx)
	if err != nil {
		return nil, readFailure(err)
	}
	first, through := prefixRange(q.Prefix)
	records, err := d.records(ctx, "records", int64(last), pgtype.Int8{Int64: int64(q.Below), Valid: q.Below > 0},
		encodeText(q.Resource), first, through, encodeText(q.Holder), encodeText(string(q.Kind)),
		encodeFilter(q.Since), encodeFilter(q.Until), q.Limit)
	if err != nil {
		return nil, readFailure(err)
	}
	return records, nil
}

// encodeFilter is null for no time.
func encodeFilter(t time.Time) pgtype.Timestamptz {
	return pgtype.Timestamptz{Time: t, Valid: !t.IsZero()}
}

func (d *db) records(ctx context.Context, name string, args ...any) ([]leasehold.Record, error) {
	answer, err := d.pool.Query(ctx, d.sql[name], d.args(args...)...)
	if err != nil {
		return nil, err
	}
	var r leasehold.Record
	var kind string
	var before, after int16
	var why, details pgtype.Text
	records := []leasehold.Record{}
	_, err = pgx.ForEachRow(answer, []any{
		&r.Seq, &r.At, &kind, &r.Resource, &r.Holder, &r.Token, &before, &after, &r.Renewals, &why, &details,
	}, func() error {
		one := r
		one.At, one.Kind, one.Why, one.Details = r.At.UTC(), leasehold.Kind(kind), why.String, decodeStrings(details)
		one.Before, one.After = leasehold.State(before), leasehold.State(after)
		records = append(records, one)
		return nil
	})
	return records, err
}

// After implements sqltx.DB.
func (d *db) After(ctx context.Context, seq uint64, n int) (records []leasehold.Record, oldest uint64, err error) {
	last, err := d.decidedUpTo(ctx)
	if err == nil {
		records, err = d.records(ctx, "after", int64(seq), int64(last), n)
	}
	if err == nil {
		err = d.row(ctx, d.pool, "oldest").Scan(&oldest)
	}
	if err != nil {
		return nil, 0, readFailure(err)
	}
	return records, oldest, nil
}

// Last implements sqltx.DB.
func (d *db) Last(ctx context.Context) (uint64, error) {
	last, err := d.decidedUpTo(ctx)
	if err != nil {
		return 0, readFailure(err)
	}
	return last, nil
}

// PurgePoint implements sqltx.DB.
func (d *db) PurgePoint(ctx context.Context, retention time.Duration, keep int64) (through uint64, n int, err error) {
	last, err := d.decidedUpTo(ctx)
	if err == nil {
		err = d.row(ctx, d.pool, "purge_point", encodeInterval(retention), keep, int64(last)).Scan(&through, &n)
	}
	if err != nil {
		return 0, 0, readFailure(err)
	}
	return through, n, nil
}

// DeletePurged implements sqltx.DB.
func (d *db) DeletePurged(ctx context.Context, n int) (more bool, err error) {
	deleted, err := d.exec(ctx, d.pool, "delete_purged", n)
	if err != nil {
		return false, readFailure(err) // it may have happened, and can be repeated
	}
	return int(deleted) == n, nil
}
