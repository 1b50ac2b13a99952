package dbfile

import (
	"errors"
	"math"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
)

// ScanStep is how long one turn of a scan lasts. A variable only because a test
// would need many records.
var ScanStep = time.Millisecond

// Scan is a History under way. Each step reads from a snapshot of its own, so
// that a long one keeps no old pages in the log. It misses nothing in between:
// records are added at one end and purged at the other.
type Scan struct {
	local.HistoryQuery
	Page []leasehold.Record
	Done bool
}

// errStep ends a step.
var errStep = errors.New("the scan continues later")

// Step continues the scan for one turn.
func (s *Scan) Step(conn *sqlite.Conn) error {
	stmt, err := conn.Prepare(sqlHistory)
	if err != nil {
		return err
	}
	bindQuery(stmt, s.HistoryQuery)
	started := time.Now()
	err = EachRow(stmt, func() error {
		if err := s.add(stmt); err != nil {
			return err
		}
		s.Below = uint64(stmt.ColumnInt64(0))
		if s.Done = len(s.Page) == s.Limit; s.Done || time.Since(started) > ScanStep {
			return errStep
		}
		return nil
	})
	if errors.Is(err, errStep) {
		return nil
	}
	s.Done = true
	return err
}

// add appends the record to the page if it matches.
func (s *Scan) add(stmt *sqlite.Stmt) error {
	if !stmt.ColumnBool(11) {
		return nil
	}
	r, err := ReadRecord(stmt)
	s.Page = append(s.Page, r)
	return err
}

// bindQuery binds the filters to sql/history.sql.
func bindQuery(s *sqlite.Stmt, q local.HistoryQuery) {
	BindText(s, 1, q.Resource)
	BindText(s, 2, q.Prefix)
	BindText(s, 3, PrefixEnd(q.Prefix))
	BindText(s, 4, q.Holder)
	BindText(s, 5, string(q.Kind))
	bindTime(s, 6, q.Since)
	bindTime(s, 7, q.Until)
	s.BindInt64(8, math.MaxInt64)
	if q.Below > 0 {
		s.BindInt64(8, int64(q.Below))
	}
}

// PrefixEnd returns the smallest text that is greater than every text with this
// prefix. The last byte of valid UTF-8 is never 0xff, so it can be incremented.
func PrefixEnd(prefix string) string {
	if prefix == "" {
		return ""
	}
	b := []byte(prefix)
	b[len(b)-1]++
	return string(b)
}

// PurgePoint finds the records that are too old or too many, as local.Journal has
// it. The oldest go first: a record written while the wall clock was ahead keeps
// those after it until it is old enough itself, or until there are too many.
func PurgePoint(conn *sqlite.Conn, before time.Time, keep int64) (through uint64, n int, err error) {
	last, err := purgeable(conn, before, keep)
	if err != nil || last == 0 {
		return 0, 0, err
	}
	return countThrough(conn, last)
}

// CountThrough counts the records up to one that are not purged yet.
func CountThrough(conn *sqlite.Conn, seq uint64) (int, error) {
	_, n, err := countThrough(conn, int64(seq))
	return n, err
}

func countThrough(conn *sqlite.Conn, last int64) (through uint64, n int, err error) {
	err = runQuery(conn, sqlCountThrough,
		func(s *sqlite.Stmt) { s.BindInt64(1, last) },
		func(s *sqlite.Stmt) { n, through = s.ColumnInt(0), uint64(s.ColumnInt64(1)) })
	return through, n, err
}

// purgeable returns the seq up to which everything may be purged, or zero.
func purgeable(conn *sqlite.Conn, before time.Time, keep int64) (int64, error) {
	var oldest, newest, surplus, kept int64
	err := runQuery(conn, sqlHistorySpan,
		func(*sqlite.Stmt) {},
		func(s *sqlite.Stmt) { oldest, newest = s.ColumnInt64(0), s.ColumnInt64(1) })
	if err != nil || newest == 0 {
		return 0, err
	}
	if newest-oldest >= keep { // else there cannot be more than keep
		err = runQuery(conn, sqlNewestSurplus,
			func(s *sqlite.Stmt) { s.BindInt64(1, keep) },
			func(s *sqlite.Stmt) { surplus = s.ColumnInt64(0) })
		if err != nil {
			return 0, err
		}
	}
	err = runQuery(conn, sqlOldestKept,
		func(s *sqlite.Stmt) { bindTime(s, 1, before); s.BindInt64(2, surplus) },
		func(s *sqlite.Stmt) { kept = s.ColumnInt64(0) })
	if kept == 0 {
		return newest, err // all of them are too old or too many
	}
	return kept - 1, err
}

// runQuery runs a prepared query and calls row for each row.
func runQuery(conn *sqlite.Conn, sql string, bind, row func(*sqlite.Stmt)) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	bind(stmt)
	return EachRow(stmt, func() error {
		row(stmt)
		return nil
	})
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
