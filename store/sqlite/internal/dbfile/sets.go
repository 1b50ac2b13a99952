package dbfile

import (
	"errors"
	"fmt"
	"math"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
)

// CheckShareable refuses a file with live sets, as ForSharing does. The caller has
// the file alone.
func CheckShareable(path string) (err error) {
	conn, err := Connect(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return inTransaction(conn, func() error { return refuseSets(conn, path) })
}

// refuseSets refuses a file with live leases of claims: shared mode looks only at the
// row of a name, and would grant what they cover. Sets that have ended are no
// obstacle; the clock that says so is saved, or one that is stepped back could find
// them alive again.
func refuseSets(conn *sqlite.Conn, path string) error {
	if n, err := countSets(conn, math.MinInt64); n == 0 || err != nil {
		return err
	}
	var c local.Counters
	found, err := ReadCounters(conn, &c)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("the counters are missing: %w", ErrMalformed)
	}
	now, next := c.Advance()
	n, err := countSets(conn, now.Clock)
	if err != nil {
		return err
	}
	if n > 0 {
		return &FileError{Path: path, What: ErrSets, Detail: fmt.Sprintf(
			"has live leases on several resources or patterns (%d of them), which neither mode=shared nor leasehold move knows; "+
				"open it without mode=shared, or end them first, with leasehold list and leasehold break --store sqlite:%s", n, path)}
	}
	stmt, err := conn.Prepare(sqlPutCounters)
	if err != nil {
		return err
	}
	return runCounters(stmt, &next)
}

// countSets counts the leases of claims that end after a time and have not ended
// before.
func countSets(conn *sqlite.Conn, after machine.Time) (n int64, err error) {
	stmt, err := conn.Prepare(sqlCountSets)
	if err != nil {
		return 0, err
	}
	stmt.BindText(1, leasehold.SetPrefix)
	stmt.BindText(2, PrefixEnd(leasehold.SetPrefix))
	stmt.BindInt64(3, int64(after))
	err = EachRow(stmt, func() error {
		n = stmt.ColumnInt64(0)
		return nil
	})
	return n, err
}
