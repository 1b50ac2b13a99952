package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
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
	for i, m := range dbfile.EngineSchema.Migrations {
		rows = append(rows, fmt.Sprintf("%s | %d | %s | applied | ", dbfile.EngineName, i+1, m.Name))
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
	if diff := cmp.Diff([]string{fmt.Sprintf("%d | %d", dbfile.ApplicationID, len(dbfile.EngineSchema.Migrations))}, mark); diff != "" {
		t.Errorf("the file's mark (-want +got):\n%s", diff)
	}
}

// oldFile makes a file as a program made it that knew this many steps of the schema.
// Released steps never change.
func oldFile(t *testing.T, path string, version int) {
	t.Helper()
	var script strings.Builder
	for i, m := range dbfile.EngineSchema.Migrations[:version] {
		fmt.Fprintf(&script, "%s;\nINSERT INTO migrations VALUES ('%s', %d, '%s', 0, 'applied', NULL);\n", m.SQL, dbfile.EngineName, i+1, m.Name)
	}
	fmt.Fprintf(&script, "PRAGMA application_id = %d; PRAGMA user_version = %d; PRAGMA journal_mode = WAL;", dbfile.ApplicationID, version)
	edit(t, path, script.String())
}

// TestUpgrade: a file of the schema before claims keeps its leases, and can then have
// claims and notes. What was live stays live, with its id and its token.
func TestUpgrade(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	oldFile(t, path, 5)
	ids := map[string]leasehold.ID{"held": leasehold.NewID(), "endless": leasehold.NewID(), "released": leasehold.NewID()}
	edit(t, path, fmt.Sprintf(`
		INSERT INTO leases (resource, holder, id, token, state, ttl, ends, acquired, renewed, renewals, max_renewals, metadata, handed, scoped, caller)
		VALUES ('held', 'ann', x'%x', 7, 1, 3600000000000, 1003600000000000, 1, 2, 3, -1, '{"task":"x"}', 0, 0, 'token:a'),
			('endless', 'ben', x'%x', 8, 1, -1, 9223372036854775807, 1, 2, 0, 5, NULL, 0, 0, NULL),
			('released', 'cy', x'%x', 6, 3, 60000000000, 999999000000000, 1, 2, 0, -1, NULL, 0, 0, NULL);
		UPDATE lease_counters SET clock = 1000000000000000, token = 8, batch = 3;`,
		[16]byte(ids["held"]), [16]byte(ids["endless"]), [16]byte(ids["released"])))

	s := newStore(t, path, nil)
	if diff := cmp.Diff(engineSteps(), query(t, path, allMigrations)); diff != "" {
		t.Errorf("migrations (-want +got):\n%s", diff)
	}
	for resource, want := range map[string]leasehold.Lease{
		"held":     {Holder: "ann", Token: 7, State: leasehold.StateActive, Renewals: 3, MaxRenewals: -1, Metadata: map[string]string{"task": "x"}},
		"endless":  {Holder: "ben", Token: 8, State: leasehold.StateActive, MaxRenewals: 5},
		"released": {Holder: "cy", Token: 6, State: leasehold.StateReleased, MaxRenewals: -1},
	} {
		l, err := s.Find(t.Context(), ids[resource])
		got := leasehold.Lease{
			Holder: l.Holder, Token: l.Token, State: l.State, Renewals: l.Renewals, MaxRenewals: l.MaxRenewals, Metadata: l.Metadata, Claims: l.Claims, Notes: l.Notes,
		}
		if diff := cmp.Diff(want, got); err != nil || l.Resource != resource || diff != "" {
			t.Errorf("Find(the id of %s) = %q, %v (-want +got):\n%s", resource, l.Resource, err, diff)
		}
	}
	if l, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: ids["held"]}); err != nil || l.Token != 7 || l.Renewals != 4 {
		t.Errorf("Renew() = %+v, %v, want the fourth renewal of token 7", l, err)
	}
	if g := mustAcquire(t, s, "new"); g.Token != 9 {
		t.Errorf("Acquire() = token %d, want 9", g.Token)
	}
	s.Close()
	want := []string{"endless |  | ", "held |  | ", "new |  | ", "released |  | "}
	if diff := cmp.Diff(want, query(t, path, "SELECT resource, claims, notes FROM leases ORDER BY resource")); diff != "" {
		t.Errorf("the columns (-want +got):\n%s", diff)
	}
	wantRow := setRow(leasehold.StateActive)
	j := openAt(t, path, Options{})
	_, state := mustLoad(t, j)
	state.Commit++
	mustCommit(t, j, &local.Batch{Counters: state.Counters, Rows: []local.RowChange{{Row: wantRow}}})
	rows, _ := mustLoad(t, j)
	if diff := cmp.Diff(wantRow, rows[0], sameRows); diff != "" {
		t.Errorf("a set in the upgraded file (-want +got):\n%s", diff)
	}
}

// setRow is a row with claims and notes.
func setRow(state leasehold.State) machine.Row {
	return machine.Row{
		Resource: leasehold.SetPrefix + "12", Holder: "agent:1", ID: leasehold.ID{1, 2, 3}, Token: 12, State: state,
		TTL: time.Hour, Ends: machine.Never, MaxRenewals: -1,
		Claims: []leasehold.Claim{
			{Namespace: "repo", Pattern: "src/<auth>/**"}, {Namespace: "repo", Pattern: "docs/*.md", Mode: leasehold.Shared}, {Pattern: "go.mod"},
		},
		Notes: []leasehold.Note{{From: "agent:0", Text: "tests fail,\n\"auth\" is half done"}},
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
