package shared

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/store/sqltx"
	sqlitedb "zombiezen.com/go/sqlite"
)

// Records implements sqltx.DB. Each turn reads from a snapshot of its own, so that a
// long search keeps no old pages in the log.
func (d *db) Records(ctx context.Context, q sqltx.RecordQuery) ([]leasehold.Record, error) {
	s := &dbfile.Scan{HistoryQuery: local.HistoryQuery{
		Resource: q.Resource, Prefix: q.Prefix, Holder: q.Holder, Kind: q.Kind,
		Since: q.Since, Until: q.Until, Below: q.Below, Limit: q.Limit,
	}}
	for !s.Done {
		err := d.read(ctx, func(conn *sqlitedb.Conn, _ header) error { return s.Step(conn) })
		if err != nil {
			return nil, err
		}
	}
	return s.Page, nil
}

// After implements sqltx.DB.
func (d *db) After(ctx context.Context, seq uint64, n int) (records []leasehold.Record, oldest uint64, err error) {
	err = d.read(ctx, func(conn *sqlitedb.Conn, h header) error {
		first, err := queryInt(conn, sqlOldestRecord, func(s *sqlitedb.Stmt) { s.BindInt64(1, int64(h.Purged)) })
		oldest = uint64(first)
		if err != nil {
			return err
		}
		return query(conn, sqlRecordsAfter, func(s *sqlitedb.Stmt) {
			s.BindInt64(1, int64(max(seq, h.Purged)))
			s.BindInt64(2, int64(n))
		}, func(s *sqlitedb.Stmt) error {
			r, err := dbfile.ReadRecord(s)
			records = append(records, r)
			return err
		})
	})
	return records, oldest, err
}

// Last implements sqltx.DB. Records that were not kept count too: nobody who has
// seen their numbers has missed anything.
func (d *db) Last(ctx context.Context) (seq uint64, err error) {
	err = d.read(ctx, func(_ *sqlitedb.Conn, h header) error {
		seq = h.Seq
		return nil
	})
	return seq, err
}

// PurgePoint implements sqltx.DB.
func (d *db) PurgePoint(ctx context.Context, retention time.Duration, keep int64) (through uint64, n int, err error) {
	err = d.read(ctx, func(conn *sqlitedb.Conn, h header) error {
		now, _ := h.Advance()
		through, n, err = dbfile.PurgePoint(conn, now.WallTime().Add(-retention), keep)
		return err
	})
	return through, n, err
}

// DeletePurged implements sqltx.DB.
func (d *db) DeletePurged(ctx context.Context, n int) (more bool, err error) {
	there := int64(0)
	err = d.read(ctx, func(conn *sqlitedb.Conn, h header) error {
		there, err = queryInt(conn, sqlIsPurged, func(s *sqlitedb.Stmt) { s.BindInt64(1, int64(h.Purged)) })
		return err
	})
	if err != nil || there == 0 {
		return false, err
	}
	err = d.change(ctx, func(t *transaction) error {
		deleted, err := t.w.DeletePurged(t.Purged, n)
		more = deleted >= n
		return err
	})
	return more, err
}

// Forget implements sqltx.DB.
func (d *db) Forget(ctx context.Context, age time.Duration, keep int64, n int) (forgotten int, err error) {
	old, surplus := int64(0), int64(0)
	err = d.readAt(ctx, func(conn *sqlitedb.Conn, now machine.Instant, _ header) error {
		old, err = queryInt(conn, sqlCountForgettable, func(s *sqlitedb.Stmt) {
			s.BindInt64(1, int64(now.Clock-machine.Time(age)))
			s.BindInt64(2, int64(n))
		})
		if err != nil {
			return err
		}
		surplus, err = queryInt(conn, sqlCountEnded, nil)
		surplus -= keep
		return err
	})
	if err != nil || old == 0 && surplus <= 0 {
		return 0, err
	}
	err = d.change(ctx, func(t *transaction) error {
		forgotten, err = t.forget(age, int(max(0, surplus)), n)
		return err
	})
	return forgotten, err
}

// forget deletes rows of leases that ended long ago, and the oldest of the surplus.
func (t *transaction) forget(age time.Duration, surplus, n int) (int, error) {
	stmt, err := t.w.Conn.Prepare(sqlForget)
	if err != nil {
		return 0, err
	}
	stmt.BindInt64(1, int64(t.Clock-machine.Time(age)))
	stmt.BindInt64(2, int64(n))
	if err := dbfile.RunPrepared(stmt); err != nil {
		return 0, err
	}
	forgotten := t.w.Conn.Changes()
	if surplus = min(surplus, n) - forgotten; surplus <= 0 {
		return forgotten, nil
	}
	if stmt, err = t.w.Conn.Prepare(sqlForgetOldest); err != nil {
		return 0, err
	}
	stmt.BindInt64(1, int64(surplus))
	if err := dbfile.RunPrepared(stmt); err != nil {
		return 0, err
	}
	return forgotten + t.w.Conn.Changes(), nil
}
