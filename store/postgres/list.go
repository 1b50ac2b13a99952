package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqltx"
)

// List implements sqltx.DB.
func (d *db) List(ctx context.Context, q sqltx.ListQuery) ([]machine.Row, machine.Instant, error) {
	rows, now, err := d.list(ctx, q)
	if err != nil {
		return nil, now, readFailure(err)
	}
	return rows, now, nil
}

func (d *db) list(ctx context.Context, q sqltx.ListQuery) (rows []machine.Row, now machine.Instant, err error) {
	first, last := prefixRange(q.Prefix)
	answer, err := d.pool.Query(ctx, d.sql["list"], d.args(
		encodeText(q.Resource), encodeText(q.Holder), encodeText(q.After), first, last, q.Live, q.Limit)...)
	if err != nil {
		return nil, now, err
	}
	var c columns
	var at time.Time
	_, err = pgx.ForEachRow(answer, append([]any{&at}, c.targets()...), func() error {
		rows = append(rows, c.row())
		return nil
	})
	return rows, instant(at), err
}

// prefixRange is the first and the last name that may begin with a prefix; null
// without one.
func prefixRange(prefix string) (first, last pgtype.Text) {
	if prefix == "" {
		return first, last
	}
	return encodeText(prefix), encodeText(prefix + strings.Repeat("\U0010FFFF", 256))
}

// Forget implements sqltx.DB.
func (d *db) Forget(ctx context.Context, age time.Duration, keep int64, n int) (int, error) {
	deleted, err := d.exec(ctx, d.pool, "forget", encodeInterval(age), keep, n)
	if err != nil {
		return 0, readFailure(err) // it may have happened, and can be repeated
	}
	return int(deleted), nil
}

func encodeInterval(age time.Duration) pgtype.Interval {
	return pgtype.Interval{Microseconds: age.Microseconds(), Valid: true}
}

// Base implements sqltx.DB.
func (d *db) Base(ctx context.Context) (sqltx.Base, error) {
	b, err := d.base(ctx, d.pool)
	if err != nil {
		return sqltx.Base{}, readFailure(err)
	}
	return *b, nil
}

func (d *db) base(ctx context.Context, q querier) (*sqltx.Base, error) {
	var b sqltx.Base
	err := d.row(ctx, q, "base").Scan(&b.Live, &b.Ended, &b.Token, &b.Records)
	if err == nil {
		b.Control, err = d.readControl(ctx, q)
	}
	return &b, err
}
