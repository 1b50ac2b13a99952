package dbfile

import (
	_ "embed" // the statements
	"fmt"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

var (
	//go:embed sql/put_lease.sql
	sqlPutLease string
	//go:embed sql/drop_lease.sql
	sqlDropLease string
	//go:embed sql/all_leases.sql
	sqlAllLeases string
	//go:embed sql/add_record.sql
	sqlAddRecord string
	//go:embed sql/put_config.sql
	sqlPutConfig string
	//go:embed sql/all_configs.sql
	sqlAllConfigs string
	//go:embed sql/put_counters.sql
	sqlPutCounters string
	//go:embed sql/counters.sql
	sqlCounters string
	//go:embed sql/purge_step.sql
	sqlPurgeStep string
	//go:embed sql/history.sql
	sqlHistory string
	//go:embed sql/history_span.sql
	sqlHistorySpan string
	//go:embed sql/oldest_kept.sql
	sqlOldestKept string
	//go:embed sql/newest_surplus.sql
	sqlNewestSurplus string
	//go:embed sql/count_through.sql
	sqlCountThrough string
	//go:embed sql/applied_migrations.sql
	sqlAppliedMigrations string
	//go:embed sql/put_migration.sql
	sqlPutMigration string
	//go:embed sql/set_token.sql
	SetToken string
	//go:embed sql/last_token.sql
	LastToken string
	//go:embed sql/clear_boot.sql
	ClearBoot string
	//go:embed sql/count_tables.sql
	sqlCountTables string
	//go:embed sql/copy_into.sql
	CopyInto string
	//go:embed sql/mark.sql
	sqlMark string
	//go:embed sql/end_leaving.sql
	sqlEndLeaving string
	//go:embed sql/count_sets.sql
	sqlCountSets string
	//go:embed sql/indexes.sql
	sqlIndexes string
	//go:embed sql/index_id.sql
	sqlIndexID string
	//go:embed sql/index_former.sql
	sqlIndexFormer string
	//go:embed sql/index_ends.sql
	sqlIndexEnds string
	//go:embed sql/index_caller.sql
	sqlIndexCaller string
)

// Run executes one statement without arguments.
func Run(conn *sqlite.Conn, sql string) error { return sqlitex.ExecuteTransient(conn, sql, nil) }

// runScript executes statements one after the other. Unlike
// sqlitex.ExecuteScript it opens no savepoint: an authorizer that forbids
// transactions forbids savepoints too.
func runScript(conn *sqlite.Conn, sql string) error {
	for sql = skipBlank(sql); sql != ""; sql = skipBlank(sql) {
		stmt, rest, err := conn.PrepareTransient(sql)
		if err != nil {
			return err
		}
		sql = sql[len(sql)-rest:]
		if err := stepToEnd(stmt); err != nil {
			return err
		}
	}
	return nil
}

// skipBlank drops space, comments and lone semicolons before the next statement:
// SQLite prepares no statement for them.
func skipBlank(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\r\n;")
		switch {
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql, "*/")
		default:
			return sql
		}
	}
}

// stepToEnd steps a statement to its end and finalizes it.
func stepToEnd(stmt *sqlite.Stmt) error {
	defer stmt.Finalize()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
	}
}

// QueryInt returns the one integer that a query returns.
func QueryInt(conn *sqlite.Conn, sql string) (int64, error) {
	var n int64
	err := sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}

// RunPrepared runs a bound statement that returns no rows, and resets it.
func RunPrepared(s *sqlite.Stmt) error {
	if _, err := s.Step(); err != nil {
		return err
	}
	return s.Reset()
}

// EachRow calls f for every row of a prepared statement, and resets it.
func EachRow(stmt *sqlite.Stmt, f func() error) error {
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

// BindArgs binds the arguments of an engine.Statement.
func BindArgs(s *sqlite.Stmt, args []any) error {
	if want := s.BindParamCount(); len(args) != want {
		return fmt.Errorf("the statement wants %d arguments and has %d", want, len(args))
	}
	for i, arg := range args {
		switch v := arg.(type) {
		case nil:
			s.BindNull(i + 1)
		case int64:
			s.BindInt64(i+1, v)
		case float64:
			s.BindFloat(i+1, v)
		case string:
			s.BindText(i+1, v)
		case []byte:
			s.BindBytes(i+1, v)
		case bool:
			s.BindBool(i+1, v)
		default:
			return fmt.Errorf("argument %d is a %T; want int64, float64, string, []byte, bool or nil", i+1, arg)
		}
	}
	return nil
}
