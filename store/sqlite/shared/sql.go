package shared

import (
	_ "embed" // the statements

	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	sqlitedb "zombiezen.com/go/sqlite"
)

var (
	//go:embed sql/base.sql
	sqlBase string
	//go:embed sql/clear.sql
	sqlClear string
	//go:embed sql/count_caller.sql
	sqlCountCaller string
	//go:embed sql/count_ended.sql
	sqlCountEnded string
	//go:embed sql/count_forgettable.sql
	sqlCountForgettable string
	//go:embed sql/count_live.sql
	sqlCountLive string
	//go:embed sql/forget.sql
	sqlForget string
	//go:embed sql/forget_oldest.sql
	sqlForgetOldest string
	//go:embed sql/header.sql
	sqlHeader string
	//go:embed sql/is_due.sql
	sqlIsDue string
	//go:embed sql/is_purged.sql
	sqlIsPurged string
	//go:embed sql/list.sql
	sqlList string
	//go:embed sql/oldest_record.sql
	sqlOldestRecord string
	//go:embed sql/put_mark.sql
	sqlPutMark string
	//go:embed sql/records_after.sql
	sqlRecordsAfter string
	//go:embed sql/reset_settings.sql
	sqlResetSettings string
	//go:embed sql/row_by_former.sql
	sqlRowByFormer string
	//go:embed sql/row_by_id.sql
	sqlRowByID string
	//go:embed sql/row_by_name.sql
	sqlRowByName string
	//go:embed sql/rows_due.sql
	sqlRowsDue string
	//go:embed sql/rows_of_holder.sql
	sqlRowsOfHolder string
)

// query runs a prepared query and calls row for each row. Nil binds nothing.
func query(conn *sqlitedb.Conn, sql string, bind func(*sqlitedb.Stmt), row func(*sqlitedb.Stmt) error) error {
	stmt, err := conn.Prepare(sql)
	if err != nil {
		return err
	}
	if bind != nil {
		bind(stmt)
	}
	return dbfile.EachRow(stmt, func() error { return row(stmt) })
}

// queryInt returns the integer that a query returns; zero without a row.
func queryInt(conn *sqlitedb.Conn, sql string, bind func(*sqlitedb.Stmt)) (n int64, err error) {
	err = query(conn, sql, bind, func(s *sqlitedb.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	})
	return n, err
}
