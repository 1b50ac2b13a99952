package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leasehold/leasehold/store/sqltx"
)

// Swap implements sqltx.Swapper: one statement in a transaction of its own.
func (d *db) Swap(ctx context.Context, s sqltx.Swap) (sqltx.Done, error) {
	row := s.Rows[0]
	args := append(rowArguments(row, s.Grant, s.Write.Version), encodeLimit(s.Until), d.notify(row),
		s.Before, s.Control, encodeTime(s.From), encodeID(s.Proposed))
	name := "swap"
	if s.Before == 0 {
		name = "swap_insert"
	}
	var token, inTime, seq int64
	var now time.Time
	var notified pgtype.Text
	targets := []any{&token, &now, &inTime, &notified}
	switch {
	case len(s.Records) == 0:
	case !s.Kept[0]:
		name, targets = name+"_numbered", append(targets, &seq)
	default:
		r := s.Records[0]
		name, targets = name+"_recorded", targets[:2]
		args = append(args, pgtype.Timestamptz{Time: r.At, Valid: true}, string(r.Kind), int16(r.Before),
			encodeText(r.Why), encodeStrings(r.Details))
	}
	conn, err := d.pool.Acquire(ctx)
	if err != nil {
		return sqltx.Done{}, readFailure(err)
	}
	defer conn.Release()
	asked := time.Now()
	switch err := d.row(ctx, conn, name, args...).Scan(targets...); {
	case err == nil:
		return sqltx.Done{Token: uint64(token), Now: instant(now), Asked: asked}, nil
	case errors.Is(err, pgx.ErrNoRows):
		return sqltx.Done{}, sqltx.ErrRaced
	case errors.Is(stepFailure(err), errAgain):
		return sqltx.Done{}, sqltx.ErrRaced
	default:
		return sqltx.Done{}, writeFailure(err)
	}
}
