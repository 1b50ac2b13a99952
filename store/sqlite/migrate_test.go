package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// query reads a database past the store, a line for each row.
func query(t *testing.T, path, sql string) []string {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var lines []string
	err = sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
		var cols []string
		for i := range s.ColumnCount() {
			cols = append(cols, s.ColumnText(i))
		}
		lines = append(lines, strings.Join(cols, " | "))
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

const allMigrations = "SELECT module, version, name, status, coalesce(error, '') FROM migrations ORDER BY module, version"

// engineSteps is what the engine's own migrations leave in the table.
func engineSteps() (rows []string) {
	for i, m := range engineSchema.Migrations {
		rows = append(rows, fmt.Sprintf("%s | %d | %s | applied | ", engineName, i+1, m.Name))
	}
	return rows
}

func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	newStore(t, path, nil).Close()
	if diff := cmp.Diff(engineSteps(), query(t, path, allMigrations)); diff != "" {
		t.Errorf("migrations (-want +got):\n%s", diff)
	}
	// A module comes later, and then grows.
	opts := &Options{Modules: []engine.Module{toys}}
	newStore(t, path, opts).Close()
	grown := engine.Module{Name: "toy", Migrations: append(toys.Migrations, engine.Migration{
		Name: "colour", SQL: "ALTER TABLE toy_rows ADD COLUMN colour TEXT; /* none */ ; -- yet",
	})}
	opts.Modules = []engine.Module{grown}
	newStore(t, path, opts).Close()
	want := append(engineSteps(), "toy | 1 | rows | applied | ", "toy | 2 | colour | applied | ")
	if diff := cmp.Diff(want, query(t, path, allMigrations)); diff != "" {
		t.Errorf("migrations (-want +got):\n%s", diff)
	}
	// Nothing to do changes nothing, and a store can do without the module.
	newStore(t, path, opts).Close()
	newStore(t, path, nil).Close()
	if diff := cmp.Diff(want, query(t, path, allMigrations)); diff != "" {
		t.Errorf("migrations afterwards (-want +got):\n%s", diff)
	}
	mark := query(t, path, "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version")
	if diff := cmp.Diff([]string{fmt.Sprintf("%d | %d", applicationID, len(engineSchema.Migrations))}, mark); diff != "" {
		t.Errorf("the file's mark (-want +got):\n%s", diff)
	}
}

// TestMigrationFails: the first step of a module works, the second does not.
// Neither is there afterwards, the leases are, and a row says what happened.
func TestMigrationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	g := mustAcquire(t, s, "r")
	s.Close()
	const schema = "SELECT name, sql FROM sqlite_schema ORDER BY name"
	before := query(t, path, schema)
	broken := &Options{Modules: []engine.Module{{Name: "toy", Migrations: append(toys.Migrations,
		engine.Migration{Name: "oops", SQL: "INSERT INTO toy_rows VALUES ('x', 1); CREATE TABEL toy_more (x)"})}}}
	for range 2 { // the second time it fails the same way
		_, err := Open(t.Context(), path, broken)
		if !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "migration 2 (oops) of toy failed, the schema is as it was") {
			t.Errorf("Open() with a broken migration = %v", err)
		}
	}
	if diff := cmp.Diff(before, query(t, path, schema)); diff != "" {
		t.Errorf("the schema changed (-before +after):\n%s", diff)
	}
	got := query(t, path, allMigrations)
	if last := len(engineSteps()); len(got) != last+1 || !strings.HasPrefix(got[last], "toy | 2 | oops | failed | migration 2 (oops)") {
		t.Errorf("migrations = %q, want a failed row for toy 2", got)
	}
	s = newStore(t, path, &Options{Modules: []engine.Module{toys}})
	if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
		t.Errorf("Renew() afterwards = %v", err)
	}
}

// TestFirstMigrationFails: a file that was empty is empty again.
func TestFirstMigrationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	broken := &Options{Modules: []engine.Module{{Name: "toy", Migrations: []engine.Migration{{Name: "oops", SQL: "nonsense"}}}}}
	if _, err := Open(t.Context(), path, broken); err == nil {
		t.Fatal("Open() with a broken migration = nil")
	}
	if data, err := os.ReadFile(path); err != nil || len(data) != 0 {
		t.Errorf("the file has %d bytes, %v, want none", len(data), err)
	}
	newStore(t, path, nil)
}

// TestModulesAreRestricted: a migration may touch only what carries the
// module's name.
func TestModulesAreRestricted(t *testing.T) {
	base := filepath.Join(t.TempDir(), "leases.db")
	newStore(t, base, nil).Close()
	data, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{
		"CREATE TABLE other_rows (x)",
		"CREATE TABLE toyrows (x)",
		"CREATE TABLE toy_x (x); CREATE INDEX by_x ON toy_x (x)",
		"CREATE INDEX toy_by_holder ON lease_history (holder)",
		"CREATE TRIGGER toy_spy AFTER INSERT ON leases BEGIN SELECT 1; END",
		"CREATE VIEW secrets AS SELECT id FROM leases",
		"DROP TABLE lease_history",
		"ALTER TABLE leases ADD COLUMN toy_x",
		"DELETE FROM leases",
		"UPDATE lease_counters SET token = 0",
		"INSERT INTO migrations VALUES ('x', 1, 'x', 0, 'applied', NULL)",
		"PRAGMA user_version = 7",
		"COMMIT",
		"SAVEPOINT x",
		"ATTACH 'x.db' AS x",
	} {
		path := filepath.Join(t.TempDir(), "leases.db")
		write(t, path, string(data))
		opts := &Options{Modules: []engine.Module{{Name: "toy", Migrations: []engine.Migration{{Name: "m", SQL: sql}}}}}
		s, err := Open(t.Context(), path, opts)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "may only make and change what carries its name, toy_…") {
			t.Errorf("Open() with migration %q = %v, want a refusal", sql, err)
		}
	}
	for _, sql := range []string{
		"CREATE TABLE toy_x (n INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT UNIQUE); CREATE UNIQUE INDEX toy_x_t ON toy_x (t)",
		"CREATE TABLE toy_x (a); ALTER TABLE toy_x RENAME TO toy_y; ALTER TABLE toy_y ADD COLUMN b NOT NULL DEFAULT 0; ALTER TABLE toy_y DROP COLUMN a; DROP TABLE toy_y",
		"CREATE TABLE toy_x AS SELECT resource FROM leases; CREATE VIEW toy_v AS SELECT * FROM toy_x; DELETE FROM toy_x",
		"CREATE TABLE toy_x (a); CREATE TRIGGER toy_t AFTER INSERT ON toy_x BEGIN DELETE FROM toy_x; END",
		"-- nothing to do yet",
	} {
		path := filepath.Join(t.TempDir(), "leases.db")
		write(t, path, string(data))
		opts := &Options{Modules: []engine.Module{{Name: "toy", Migrations: []engine.Migration{{Name: "m", SQL: sql}}}}}
		newStore(t, path, opts).Close()
	}
	if after, _ := os.ReadFile(base); !bytes.Equal(data, after) {
		t.Error("the file that was copied changed")
	}
}
