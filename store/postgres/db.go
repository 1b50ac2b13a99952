package postgres

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqltx"
)

// db is a schema of a PostgreSQL database.
type db struct {
	pool    *pgxpool.Pool
	listen  *pgx.ConnConfig // for LISTEN; nil: not at all
	sql     statements
	mode    pgx.QueryExecMode
	channel string
	opts    Options
	owned   bool // Close closes the pool

	cached  atomic.Pointer[sqltx.Control]
	horizon horizon
}

var (
	_ sqltx.DB       = (*db)(nil)
	_ sqltx.Swapper  = (*db)(nil)
	_ sqltx.Notifier = (*db)(nil)
)

// querier is a pool, a connection or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Traits implements sqltx.DB.
func (d *db) Traits() sqltx.Traits {
	return sqltx.Traits{Kind: kind, NoHistory: d.opts.NoHistory}
}

// Close implements sqltx.DB.
func (d *db) Close() error {
	if d.owned {
		d.pool.Close()
	}
	return nil
}

// args puts the way in which statements are sent before their arguments: named
// prepared statements do not pass a pooler.
func (d *db) args(args ...any) []any { return append([]any{d.mode}, args...) }

// row runs a statement with one row for an answer, at most.
func (d *db) row(ctx context.Context, q querier, name string, args ...any) pgx.Row {
	return q.QueryRow(ctx, d.sql[name], d.args(args...)...)
}

func (d *db) exec(ctx context.Context, q querier, name string, args ...any) (int64, error) {
	tag, err := q.Exec(ctx, d.sql[name], d.args(args...)...)
	return tag.RowsAffected(), err
}

// Read implements sqltx.DB.
func (d *db) Read(ctx context.Context, n sqltx.Need) (sqltx.Found, error) {
	f, err := d.read(ctx, d.pool, n)
	if err != nil {
		return sqltx.Found{}, readFailure(err)
	}
	return f, nil
}

func (d *db) read(ctx context.Context, q querier, n sqltx.Need) (f sqltx.Found, err error) {
	switch {
	case n.Resource == "" && !n.ID.IsZero():
		f, err = d.found(ctx, q, "read_id", encodeID(n.ID))
	case !n.Proposed.IsZero():
		return d.foundProposed(ctx, q, n)
	default:
		f, err = d.found(ctx, q, "read", n.Resource)
		f.Row.Resource = n.Resource
	}
	if err == nil && !n.Proposed.IsZero() {
		f.Known, err = d.known(ctx, q, n)
	}
	return f, err
}

// found runs a statement that returns the time, the version of the control and a
// row, and completes the control.
func (d *db) found(ctx context.Context, q querier, name string, args ...any) (f sqltx.Found, err error) {
	var c columns
	var now time.Time
	var version int64
	if err := d.row(ctx, q, name, args...).Scan(append([]any{&now, &version}, c.targets()...)...); err != nil {
		return f, err
	}
	f.Now, f.Row, f.Version, f.Waiting = instant(now), c.row(), c.version.Int64, decodeTime(c.waiting)
	f.Control, err = d.control(ctx, q, version)
	return f, err
}

// foundProposed is found with the row that knows a proposed id.
func (d *db) foundProposed(ctx context.Context, q querier, n sqltx.Need) (f sqltx.Found, err error) {
	var c, k columns
	var now time.Time
	var version int64
	targets := append([]any{&now, &version}, append(c.targets(), k.targets()...)...)
	if err := d.row(ctx, q, "read_proposed", n.Resource, encodeID(n.Proposed)).Scan(targets...); err != nil {
		return f, err
	}
	f.Now, f.Row, f.Version, f.Waiting = instant(now), c.row(), c.version.Int64, decodeTime(c.waiting)
	f.Row.Resource = n.Resource
	if k.resource.Valid {
		row := k.row()
		f.Known = &row
	}
	f.Control, err = d.control(ctx, q, version)
	return f, err
}

// known reads the row that knows a proposed id.
func (d *db) known(ctx context.Context, q querier, n sqltx.Need) (*machine.Row, error) {
	rows, err := d.rows(ctx, q, "known", encodeID(n.Proposed))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// rows runs a statement that returns rows of the table leases.
func (d *db) rows(ctx context.Context, q querier, name string, args ...any) ([]machine.Row, error) {
	answer, err := q.Query(ctx, d.sql[name], d.args(args...)...)
	if err != nil {
		return nil, err
	}
	var c columns
	var rows []machine.Row
	_, err = pgx.ForEachRow(answer, c.targets(), func() error {
		rows = append(rows, c.row())
		return nil
	})
	return rows, err
}

// control returns what concerns all leases. It reads it only where its version is
// another than the last.
func (d *db) control(ctx context.Context, q querier, version int64) (sqltx.Control, error) {
	if last := d.cached.Load(); last != nil && last.Version == version {
		return *last, nil
	}
	return d.readControl(ctx, q)
}

func (d *db) readControl(ctx context.Context, q querier) (sqltx.Control, error) {
	var c sqltx.Control
	var state string
	var until pgtype.Timestamptz
	var stored pgtype.Text
	err := d.row(ctx, q, "control").Scan(&c.Version, &c.Purged, &c.Mark.ID, &state, &c.Mark.Peer, &until, &stored)
	if err != nil {
		return c, err
	}
	c.Mark.State, c.Mark.Until = move.State(state), decodeTime(until)
	c.Settings = decodeSettings(stored)
	d.cached.Store(&c)
	return c, nil
}
