package shared

import (
	"context"

	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/store/sqltx"
	sqlitedb "zombiezen.com/go/sqlite"
)

// read calls f in a snapshot of the file. It is interrupted when ctx ends.
func (d *db) read(ctx context.Context, f func(*sqlitedb.Conn, header) error) error {
	conn, err := d.readers.Take(ctx)
	if err == nil {
		err = d.snapshot(conn, f)
		d.readers.Put(conn)
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return d.unavailable(context.Cause(ctx))
	}
	return d.unavailable(err)
}

func (d *db) snapshot(conn *sqlitedb.Conn, f func(*sqlitedb.Conn, header) error) (err error) {
	if err := dbfile.Run(conn, "BEGIN"); err != nil {
		return err
	}
	defer func() {
		conn.SetInterrupt(nil) // or the end would be interrupted too
		if end := dbfile.Run(conn, "ROLLBACK"); err == nil {
			err = end
		}
	}()
	h, err := d.readHeader(conn)
	if err != nil {
		return err
	}
	return f(conn, h)
}

// readAt is read with the time. Where that is past the end of a lease and no commit
// has seen so yet, the clock is saved first: or a later reader whose clock was
// stepped back could find the lease alive again, and one that holds the file now
// could be about to renew it.
func (d *db) readAt(ctx context.Context, f func(*sqlitedb.Conn, machine.Instant, header) error) error {
	for {
		due := false
		err := d.read(ctx, func(conn *sqlitedb.Conn, h header) error {
			var now machine.Instant
			var err error
			if now, due, err = h.look(conn); err != nil || due {
				return err
			}
			return f(conn, now, h)
		})
		if err != nil || !due {
			return err
		}
		if err := d.change(ctx, func(*transaction) error { return nil }); err != nil {
			return err
		}
	}
}

// look returns the time, and whether that is past an end that no commit has seen.
func (h header) look(conn *sqlitedb.Conn) (now machine.Instant, due bool, err error) {
	now, _ = h.Advance()
	n, err := queryInt(conn, sqlIsDue, func(s *sqlitedb.Stmt) {
		s.BindInt64(1, int64(h.Clock))
		s.BindInt64(2, int64(now.Clock))
	})
	return now, n != 0, err
}

// Read implements sqltx.DB.
func (d *db) Read(ctx context.Context, n sqltx.Need) (found sqltx.Found, err error) {
	err = d.readAt(ctx, func(conn *sqlitedb.Conn, now machine.Instant, h header) error {
		found, err = find(conn, now, h, n)
		return err
	})
	return found, err
}

// List implements sqltx.DB.
func (d *db) List(ctx context.Context, q sqltx.ListQuery) (rows []machine.Row, now machine.Instant, err error) {
	err = d.readAt(ctx, func(conn *sqlitedb.Conn, at machine.Instant, _ header) error {
		now = at
		rows, err = rowsWhere(conn, sqlList, func(s *sqlitedb.Stmt) { bindList(s, q, at) })
		return err
	})
	return rows, now, err
}

// bindList binds the filters to sql/list.sql.
func bindList(s *sqlitedb.Stmt, q sqltx.ListQuery, now machine.Instant) {
	from, to := max(q.Prefix, q.After), dbfile.PrefixEnd(q.Prefix)
	if q.Resource != "" {
		from, to = max(from, q.Resource), q.Resource+" " // no name has a character below the space
	}
	dbfile.BindText(s, 1, q.Resource)
	s.BindText(2, from)
	dbfile.BindText(s, 3, to)
	s.BindText(4, q.After)
	dbfile.BindText(s, 5, q.Holder)
	s.BindBool(6, q.Live)
	s.BindInt64(7, int64(now.Clock))
	s.BindBool(8, q.Unscoped)
	s.BindInt64(9, int64(q.Limit))
}

// Base implements sqltx.DB.
func (d *db) Base(ctx context.Context) (base sqltx.Base, err error) {
	err = d.readAt(ctx, func(conn *sqlitedb.Conn, now machine.Instant, h header) error {
		b, err := readBase(conn, now, h)
		if err == nil {
			base = *b
		}
		return err
	})
	return base, err
}
