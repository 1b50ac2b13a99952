package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
)

var everyType = engine.Module{Name: "kinds", Migrations: []engine.Migration{
	{Name: "values", SQL: "CREATE TABLE kinds_values (n INTEGER PRIMARY KEY, v ANY) STRICT"},
}}

// TestModuleValues: every kind of value that a module may write comes back.
func TestModuleValues(t *testing.T) {
	j := newJournal(t, Options{Modules: []engine.Module{everyType}})
	const insert = "INSERT INTO kinds_values (n, v) VALUES (?, ?) RETURNING n"
	b := &local.Batch{}
	for i, v := range []any{nil, int64(-7), "tëxt'", []byte{0, 1, 255}, []byte{}, true, 2.5} {
		b.Extras = append(b.Extras, engine.Statement{SQL: insert, Args: []any{int64(i), v}})
	}
	mustCommit(t, j, b)
	var got []any
	err := j.Query(t.Context(), "SELECT v, typeof(v) FROM kinds_values WHERE n >= ? ORDER BY n", []any{int64(0)}, func(c engine.Columns) error {
		switch {
		case c.IsNull(0):
			got = append(got, nil)
		case c.Text(1) == "integer":
			got = append(got, c.Int64(0))
		case c.Text(1) == "blob":
			got = append(got, c.Bytes(0))
		default:
			got = append(got, c.Text(0))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Query() = %v", err)
	}
	want := []any{nil, int64(-7), "tëxt'", []byte{0, 1, 255}, []byte{}, int64(1), "2.5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Query() (-want +got):\n%s", diff)
	}
}

func TestQueryErrors(t *testing.T) {
	j := newJournal(t, Options{Modules: []engine.Module{toys}})
	mustCommit(t, j, &local.Batch{Extras: []engine.Statement{{SQL: "INSERT INTO toy_rows VALUES (?, ?)", Args: []any{"r", int64(1)}}}})
	ignore := func(engine.Columns) error { return nil }
	for name, c := range map[string]struct {
		sql  string
		args []any
		says string
	}{
		"nonsense":          {"SELEC 1", nil, "syntax error"},
		"a write":           {"DELETE FROM toy_rows", nil, "cannot be opened for writing"},
		"too few arguments": {"SELECT ?", nil, "wants 1 arguments and has 0"},
		"an odd argument":   {"SELECT ?", []any{7}, "argument 1 is a int"},
	} {
		if err := j.Query(t.Context(), c.sql, c.args, ignore); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("Query(%s) = %v, want an error that says %q", name, err, c.says)
		}
	}
	stop := errors.New("seen enough")
	if err := j.Query(t.Context(), "SELECT 1", nil, func(engine.Columns) error { return stop }); err != stop {
		t.Errorf("Query() = %v, want the callback's own error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
	err := j.Query(ctx, endless, nil, func(c engine.Columns) error {
		if c.Int64(0) == 1000 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Query(endless) = %v, want context.Canceled", err)
	}
}

// TestExtraFails: a statement that fails voids the whole batch.
func TestExtraFails(t *testing.T) {
	for name, extra := range map[string]engine.Statement{
		"nonsense":        {SQL: "INSRT"},
		"no such table":   {SQL: "DELETE FROM toy_nothing"},
		"a constraint":    {SQL: "INSERT INTO toy_rows (token) VALUES (NULL)"},
		"an odd argument": {SQL: "DELETE FROM toy_rows WHERE token = ?", Args: []any{struct{}{}}},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJournal(t, Options{Modules: []engine.Module{toys}})
			b := &local.Batch{
				Counters: local.Counters{Commit: 1, Seq: 1, Token: 5},
				Rows:     []local.RowChange{{Row: rowOf(1)}},
				Records:  []leasehold.Record{{Seq: 1}},
				Extras:   []engine.Statement{{SQL: "INSERT INTO toy_rows VALUES ('r', 1)"}, extra},
			}
			if err := j.Commit(b); err == nil {
				t.Fatal("Commit() = nil, want an error")
			}
			rows, state := mustLoad(t, j)
			if len(rows) != 0 || state.Counters != (local.Counters{}) || inFile(t, j, "SELECT count(*) FROM toy_rows") != 0 {
				t.Errorf("Load() = %d rows, %+v, want nothing of the batch", len(rows), state.Counters)
			}
		})
	}
}

// TestModuleThroughTheStore: the engine writes a module's rows to the file.
func TestModuleThroughTheStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, &Options{Modules: []engine.Module{toys}})
	id, err := acquireToy(t.Context(), s, "toy/1")
	if err != nil {
		t.Fatalf("Do() = %v", err)
	}
	s.Close()
	s = newStore(t, path, &Options{Modules: []engine.Module{toys}})
	rows, err := toyRows(t.Context(), s)
	if err != nil || len(rows) != 1 {
		t.Errorf("Query() = %v, %v, want one row", rows, err)
	}
	if err := releaseToy(t.Context(), s, "toy/1", id); err != nil {
		t.Errorf("Do() = %v", err)
	}
	if rows, err := toyRows(t.Context(), s); err != nil || len(rows) != 0 {
		t.Errorf("Query() = %v, %v, want none", rows, err)
	}
}

// toys is a module as small as can be: who holds a toy's lease has a row with
// the lease's token, and nobody else has.
var toys = engine.Module{Name: "toy", Migrations: []engine.Migration{
	{Name: "rows", SQL: `
		CREATE TABLE toy_rows (resource TEXT PRIMARY KEY, token INTEGER NOT NULL) STRICT; -- by resource
		CREATE INDEX toy_rows_by_token ON toy_rows (token);`},
}}

var unlimited = leasehold.Unlimited

// acquireToy acquires the lease and writes the row, in one step.
func acquireToy(ctx context.Context, e engine.Engine, resource string) (leasehold.ID, error) {
	var id leasehold.ID
	err := e.Do(ctx, resource, func(v engine.View) (engine.Decision, error) {
		r := leasehold.AcquireRequest{Resource: resource, Holder: "toy", TTL: time.Hour, MaxRenewals: &unlimited}
		o := machine.Acquire(v.Now, r, v.Fresh, []machine.Row{v.Row}, nil, machine.Standard)
		if o.Reason != "" {
			return engine.Decision{}, &leasehold.Error{Reason: o.Reason, Op: "toy"}
		}
		id = o.Row.ID
		return engine.Decision{Outcome: o, Extras: []engine.Statement{{
			SQL:  "INSERT INTO toy_rows (resource, token) VALUES (?, ?)",
			Args: []any{resource, int64(o.Row.Token)},
		}}}, nil
	})
	return id, err
}

// releaseToy releases the lease and deletes the row, in one step.
func releaseToy(ctx context.Context, e engine.Engine, resource string, id leasehold.ID) error {
	return e.Do(ctx, resource, func(v engine.View) (engine.Decision, error) {
		o := machine.Release(v.Now, leasehold.ReleaseRequest{ID: id}, v.Row, machine.Standard)
		if o.Reason != "" {
			return engine.Decision{}, &leasehold.Error{Reason: o.Reason, Op: "toy"}
		}
		return engine.Decision{Outcome: o, Extras: []engine.Statement{{
			SQL: "DELETE FROM toy_rows WHERE resource = ?", Args: []any{resource},
		}}}, nil
	})
}

// breakToy breaks a toy that an earlier process left behind.
func breakToy(ctx context.Context, e engine.Engine, resource string) error {
	return e.Do(ctx, resource, func(v engine.View) (engine.Decision, error) {
		o := machine.Break(v.Now, leasehold.BreakRequest{}, v.Row, machine.Standard)
		if o.Reason != "" { // nothing there to break
			o = machine.Outcome{}
		}
		return engine.Decision{Outcome: o, Extras: []engine.Statement{{
			SQL: "DELETE FROM toy_rows WHERE resource = ?", Args: []any{resource},
		}}}, nil
	})
}

// toyRows reads the tokens by resource.
func toyRows(ctx context.Context, e engine.Engine) (map[string]uint64, error) {
	rows := map[string]uint64{}
	err := e.Query(ctx, "SELECT resource, token FROM toy_rows", nil, func(c engine.Columns) error {
		rows[c.Text(0)] = uint64(c.Int64(1))
		return nil
	})
	return rows, err
}
