package sqlite

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
)

// bindRecord binds the record to sql/add_record.sql.
func bindRecord(s *sqlite.Stmt, r *leasehold.Record) {
	s.BindInt64(1, int64(r.Seq))
	s.BindInt64(2, r.At.UnixMilli())
	s.BindText(3, string(r.Kind))
	s.BindText(4, r.Resource)
	s.BindText(5, r.Holder)
	s.BindInt64(6, int64(r.Token))
	s.BindInt64(7, int64(r.Before))
	s.BindInt64(8, int64(r.After))
	s.BindInt64(9, int64(r.Renewals))
	bindText(s, 10, r.Why)
	bindPairs(s, 11, r.Details)
}

// bindText binds text; none is null.
func bindText(s *sqlite.Stmt, param int, text string) {
	if text == "" {
		s.BindNull(param)
	} else {
		s.BindText(param, text)
	}
}

// bindTime binds the first whole millisecond that is not before t; none is
// null. Records carry whole milliseconds.
func bindTime(s *sqlite.Stmt, param int, t time.Time) {
	if t.IsZero() {
		s.BindNull(param)
		return
	}
	s.BindInt64(param, t.Add(time.Millisecond-time.Nanosecond).UnixMilli())
}

// scanShare is how much of the processors all scans of the history may take
// together: whoever searches a million records waits, and not those who want
// leases and blobs.
const scanShare = 0.15

// scanStep is how long a scan goes on before others have their turn. A variable
// only because a test would need many records.
var scanStep = time.Millisecond

// History returns a page of records, newest first.
func (j *journal) History(ctx context.Context, q local.HistoryQuery) ([]leasehold.Record, error) {
	s := &scan{HistoryQuery: q}
	for !s.done {
		err := j.turns.Do(ctx, func() error { return j.read(ctx, &j.scanners, s.step) })
		if err != nil {
			return nil, err
		}
	}
	return s.page, nil
}

// scan is a search of the history under way. Each step reads from a snapshot of
// its own, so that a long one keeps no old pages in the log. Nothing is lost in
// between: records come at one end and go at the other.
type scan struct {
	local.HistoryQuery
	page []leasehold.Record
	done bool
}

// errStep ends a step.
var errStep = errors.New("the scan goes on later")

// step goes on with the scan for a while.
func (s *scan) step(conn *sqlite.Conn) error {
	stmt, err := conn.Prepare(sqlHistory)
	if err != nil {
		return err
	}
	bindQuery(stmt, s.HistoryQuery)
	began := time.Now()
	err = each(stmt, func() error {
		if err := s.add(stmt); err != nil {
			return err
		}
		s.Below = uint64(stmt.ColumnInt64(0))
		if s.done = len(s.page) == s.Limit; s.done || time.Since(began) > scanStep {
			return errStep
		}
		return nil
	})
	if errors.Is(err, errStep) {
		return nil
	}
	s.done = true
	return err
}

// add puts a record on the page if it is wanted.
func (s *scan) add(stmt *sqlite.Stmt) error {
	if !stmt.ColumnBool(11) {
		return nil
	}
	r, err := readRecord(stmt)
	s.page = append(s.page, r)
	return err
}

// bindQuery binds the filters to sql/history.sql.
func bindQuery(s *sqlite.Stmt, q local.HistoryQuery) {
	bindText(s, 1, q.Resource)
	bindText(s, 2, q.Prefix)
	bindText(s, 3, after(q.Prefix))
	bindText(s, 4, q.Holder)
	bindText(s, 5, string(q.Kind))
	bindTime(s, 6, q.Since)
	bindTime(s, 7, q.Until)
	s.BindInt64(8, math.MaxInt64)
	if q.Below > 0 {
		s.BindInt64(8, int64(q.Below))
	}
}

// after returns the smallest text that is behind every text with this prefix.
// The last byte of valid UTF-8 is never 0xff, so one more is always possible.
func after(prefix string) string {
	if prefix == "" {
		return ""
	}
	b := []byte(prefix)
	b[len(b)-1]++
	return string(b)
}

func readRecord(s *sqlite.Stmt) (leasehold.Record, error) {
	r := leasehold.Record{
		Seq:      uint64(s.ColumnInt64(0)),
		At:       time.UnixMilli(s.ColumnInt64(1)).UTC(),
		Kind:     leasehold.Kind(s.ColumnText(2)),
		Resource: s.ColumnText(3),
		Holder:   s.ColumnText(4),
		Token:    uint64(s.ColumnInt64(5)),
		Before:   leasehold.State(s.ColumnInt64(6)),
		After:    leasehold.State(s.ColumnInt64(7)),
		Renewals: s.ColumnInt(8),
		Why:      s.ColumnText(9),
	}
	if s.ColumnIsNull(10) {
		return r, nil
	}
	var err error
	r.Details, err = decodePairs([]byte(s.ColumnText(10)))
	return r, err
}

// each calls f for every row of a statement, and leaves the statement ready for
// the next time.
func each(stmt *sqlite.Stmt, f func() error) error {
	for {
		more, err := stmt.Step()
		if err != nil {
			return err
		}
		if !more {
			return stmt.Reset()
		}
		if err := f(); err != nil {
			_ = stmt.Reset() // f's error is the one that matters
			return err
		}
	}
}

// PurgePoint looks for records that are too old or too many. The oldest go
// first: a record whose wall clock was ahead keeps those after it until its own
// time has come, or until there are too many.
func (j *journal) PurgePoint(ctx context.Context, before time.Time, keep int64) (through uint64, n int, err error) {
	err = j.read(ctx, &j.scanners, func(conn *sqlite.Conn) error {
		var last int64
		if last, err = purgeable(conn, before, keep); err != nil || last == 0 {
			return err
		}
		n, through, err = countThrough(conn, last)
		return err
	})
	return through, n, err
}

// purgeable returns a seq up to which everything may go.
func purgeable(conn *sqlite.Conn, before time.Time, keep int64) (int64, error) {
	oldest, newest, err := span(conn)
	if err != nil || newest == 0 {
		return 0, err
	}
	var extra int64
	if newest-oldest >= keep { // else there cannot be more than keep
		extra, err = find(conn, sqlFirstExtra, func(s *sqlite.Stmt) { s.BindInt64(1, keep) })
		if err != nil {
			return 0, err
		}
	}
	young, err := find(conn, sqlFirstYoung, func(s *sqlite.Stmt) {
		bindTime(s, 1, before)
		s.BindInt64(2, extra)
	})
	if young == 0 {
		return newest, err // all of them are too old or too many
	}
	return young - 1, err
}

func span(conn *sqlite.Conn) (oldest, newest int64, err error) {
	stmt, err := conn.Prepare(sqlRetained)
	if err != nil {
		return 0, 0, err
	}
	err = each(stmt, func() error {
		oldest, newest = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
		return nil
	})
	return oldest, newest, err
}

// find returns the seq that a query answers with, or zero.
func find(conn *sqlite.Conn, sql string, bind func(*sqlite.Stmt)) (seq int64, err error) {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return 0, err
	}
	bind(stmt)
	err = each(stmt, func() error {
		seq = stmt.ColumnInt64(0)
		return nil
	})
	return seq, err
}

func countThrough(conn *sqlite.Conn, last int64) (n int, through uint64, err error) {
	stmt, err := conn.Prepare(sqlCountThrough)
	if err != nil {
		return 0, 0, err
	}
	stmt.BindInt64(1, last)
	err = each(stmt, func() error {
		n, through = stmt.ColumnInt(0), uint64(stmt.ColumnInt64(1))
		return nil
	})
	return n, through, err
}
