package sqlite

import (
	_ "embed" // the statements

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
	//go:embed sql/purge_bite.sql
	sqlPurgeBite string
	//go:embed sql/history.sql
	sqlHistory string
	//go:embed sql/retained.sql
	sqlRetained string
	//go:embed sql/first_young.sql
	sqlFirstYoung string
	//go:embed sql/first_extra.sql
	sqlFirstExtra string
	//go:embed sql/count_through.sql
	sqlCountThrough string
	//go:embed sql/applied.sql
	sqlApplied string
	//go:embed sql/put_migration.sql
	sqlPutMigration string
	//go:embed sql/skip_tokens.sql
	sqlSkipTokens string
	//go:embed sql/last_token.sql
	sqlLastToken string
	//go:embed sql/forget_boot.sql
	sqlForgetBoot string
)

// run executes one statement that has neither arguments nor results of
// interest.
func run(conn *sqlite.Conn, sql string) error { return sqlitex.ExecuteTransient(conn, sql, nil) }

// script executes statements one after the other. It opens no savepoint, as
// sqlitex.ExecuteScript would: an authorizer that forbids transactions forbids
// savepoints too.
func script(conn *sqlite.Conn, sql string) error {
	for sql = skipBlank(sql); sql != ""; sql = skipBlank(sql) {
		stmt, rest, err := conn.PrepareTransient(sql)
		if err != nil {
			return err
		}
		sql = sql[len(sql)-rest:]
		if err := finish(stmt); err != nil {
			return err
		}
	}
	return nil
}

// skipBlank drops space, comments and lone semicolons before the next
// statement: SQLite makes no statement of them, and what is none cannot be run.
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

// finish steps a statement to its end and does away with it.
func finish(stmt *sqlite.Stmt) error {
	defer stmt.Finalize()
	for {
		more, err := stmt.Step()
		if err != nil || !more {
			return err
		}
	}
}

// number reads the one integer that a query answers with.
func number(conn *sqlite.Conn, sql string) (int64, error) {
	var n int64
	err := sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		n = s.ColumnInt64(0)
		return nil
	}})
	return n, err
}
