package sqlite

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// toys is a module as small as can be: who holds a toy's lease has a row with
// the lease's token, and nobody else has.
var toys = engine.Module{Name: "toy", Migrations: []engine.Migration{
	{Name: "rows", SQL: `
		CREATE TABLE toy_rows (resource TEXT PRIMARY KEY, token INTEGER NOT NULL) STRICT; -- by resource
		CREATE INDEX toy_rows_by_token ON toy_rows (token);`},
}}

var unlimited = leasehold.Unlimited

// takeToy acquires the lease and writes the row, in one step.
func takeToy(ctx context.Context, e engine.Engine, resource string) (leasehold.ID, error) {
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

// dropToy releases the lease and deletes the row, in one step.
func dropToy(ctx context.Context, e engine.Engine, resource string, id leasehold.ID) error {
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
