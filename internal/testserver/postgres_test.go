package testserver_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/leasehold/leasehold/internal/testserver"
)

// query returns the one number that a query answers.
func query(t *testing.T, addr, sql string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), testserver.PostgresURL(addr, "postgres"))
	if err != nil {
		t.Fatalf("Connect = %v", err)
	}
	defer conn.Close(t.Context())
	var n int
	if err := conn.QueryRow(t.Context(), sql, pgx.QueryExecModeExec).Scan(&n); err != nil {
		t.Fatalf("%s = %v", sql, err)
	}
	return n
}

func TestPostgresKeepsItsDataOverARestart(t *testing.T) {
	s := testserver.Postgres(t)
	query(t, s.Addr, "WITH t AS (SELECT set_config('a.b', 'c', false)) SELECT count(*) FROM t")
	conn, err := pgx.Connect(t.Context(), testserver.PostgresURL(s.Addr, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 7 AS n"); err != nil {
		t.Fatal(err)
	}
	s.Restart() // with a connection open
	_ = conn.Close(t.Context())
	if n := query(t, s.Addr, "SELECT n FROM kept"); n != 7 {
		t.Errorf("after a restart the row is %d, want 7", n)
	}
}

func TestPgBouncer(t *testing.T) {
	s := testserver.PgBouncer(t, testserver.Postgres(t))
	if n := query(t, s.Addr, "SELECT 7"); n != 7 {
		t.Errorf("SELECT 7 = %d", n)
	}
	s.Restart()
	query(t, s.Addr, "SELECT 7")
}
