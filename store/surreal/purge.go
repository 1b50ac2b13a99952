package surreal

import (
	"context"
	"errors"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// purgeAtOnce is how many records one transaction drops.
const purgeAtOnce = 1_000

// Purge implements cas.Purger. It also drops old notices.
func (b *backend) Purge(ctx context.Context, before time.Time, keep int64) (purged int, err error) {
	for {
		n, more, err := b.purgeOnce(ctx, before, keep)
		if errors.Is(err, cas.ErrRaced) {
			if err = shortPause(ctx); err == nil {
				continue
			}
		}
		purged += n
		if err != nil || !more {
			return purged, err
		}
	}
}

func (b *backend) purgeOnce(ctx context.Context, before time.Time, keep int64) (n int, more bool, err error) {
	state, err := b.number(ctx)
	if err != nil {
		return 0, false, err
	}
	dropped, err := b.dropNotices(ctx, &state)
	if err != nil {
		return 0, false, err
	}
	var rows []historyRow
	if err := b.read(ctx, oldestText, vars{"n": int64(purgeAtOnce)}, &rows); err != nil {
		return 0, false, err
	}
	rows = overdue(rows, state.Numbers.Kept, before, keep)
	if len(rows) == 0 {
		return 0, dropped == purgeAtOnce, nil
	}
	through := rows[len(rows)-1].Seq
	r := cas.Purged(len(rows), uint64(through))
	r.At = state.Time.UTC().Truncate(time.Millisecond)
	now := numbers{Last: state.Numbers.Last + 1, Kept: state.Numbers.Kept - int64(len(rows)) + 1, Dropped: max(state.Numbers.Dropped, through)}
	l := line{At: r.At, Kind: r.Kind, Why: r.Why, Details: r.Details, Before: r.Before.String(), After: r.After.String()}
	c := change{history: []map[string]any{l.row(now.Last)}}
	for _, row := range rows {
		c.done = append(c.done, models.RecordID{Table: "lease_history", ID: row.Seq})
	}
	if err := b.renumber(ctx, state.Numbers, now, c); err != nil {
		return 0, false, err
	}
	return len(rows), len(rows) == purgeAtOnce, nil
}

// overdue are the oldest records that are to go. If any goes, the record of the
// purge needs room, too; and that record alone is not worth another.
func overdue(rows []historyRow, kept int64, before time.Time, keep int64) []historyRow {
	point := func(keep int64) int {
		n := 0
		for n < len(rows) && (kept-int64(n) > keep || rows[n].At.Before(before)) {
			n++
		}
		return n
	}
	n := point(keep)
	if n > 0 && keep > 0 {
		n = point(keep - 1)
	}
	if n == 1 && rows[0].Kind == string(leasehold.KindPurged) {
		return nil
	}
	return rows[:n]
}

// noticesFor is how long records that are not kept stay for watchers.
const noticesFor = time.Minute

// dropNotices drops old notices, and answers how many.
func (b *backend) dropNotices(ctx context.Context, state *journal) (int, error) {
	var rows []noticeRow
	if err := b.read(ctx, oldNoticesText, vars{"n": int64(purgeAtOnce)}, &rows); err != nil {
		return 0, err
	}
	now := state.Numbers
	var c change
	for _, row := range rows {
		r, err := row.record()
		if err != nil {
			return 0, err
		}
		if state.Time.Sub(r.At) < noticesFor {
			break
		}
		now.Dropped = max(now.Dropped, row.Seq)
		c.done = append(c.done, row.ID)
	}
	if len(c.done) == 0 {
		return 0, nil
	}
	if err := b.renumber(ctx, state.Numbers, now, c); err != nil {
		return 0, err
	}
	state.Numbers = now
	return len(c.done), nil
}
