// Package engine is what other modules need of the embedded engine: to decide
// about one resource under the engine's lock, and to commit rows of their own in
// the same transaction as the lease. The Azure Blob API checks a lease and writes
// a blob with it, in one atomic step.
//
// The package holds only the interface, so that an API imports no store; package
// local implements it and the program connects the two. It is not part of the
// root package because a decision is made of the machine's rows, and the root
// must not import the machine.
package engine

import (
	"context"

	"github.com/leasehold/leasehold/machine"
)

// Engine is the embedded engine as another module sees it.
type Engine interface {
	// Do runs decide under the engine's lock, with the resource's current row,
	// and returns nil when the decision is durable. Decide must not block, do
	// I/O, or call the engine. If decide returns an error, nothing is written,
	// and Do returns that same error once the row that decide saw is durable.
	//
	// A module whose decision depends on rows of its own must hold a lock per key
	// from reading them until Do returns.
	Do(ctx context.Context, resource string, decide func(View) (Decision, error)) error

	// Query reads committed rows of the module's own tables, calling row for
	// each. It sees everything that Do has returned nil for.
	Query(ctx context.Context, sql string, args []any, row func(Columns) error) error

	// Look calls show with the current row of each resource, in order. The rows
	// are durable when Look returns nil; nothing of them may be answered before.
	// A decision needs Do: the rows may have changed when Look returns.
	Look(ctx context.Context, resources []string, show func(i int, v View)) error

	// Names returns the resources with this prefix that have a row, sorted.
	Names(ctx context.Context, prefix string) ([]string, error)
}

// View is what a decision is made from.
type View struct {
	Row   machine.Row // the zero Row with a Resource where nothing is known
	Now   machine.Instant
	Fresh machine.Fresh // for a grant; used only if Outcome.Granted; empty in Look
}

// Decision is what to write.
type Decision struct {
	// Outcome is the machine's. Its zero value changes nothing.
	Outcome machine.Outcome

	// Forget deletes the resource's row, as when a blob is deleted. Its waiters
	// are then served.
	Forget bool

	// Extras commit together with the outcome, in order. A statement that fails
	// voids all decisions of the commit, other callers' too. So a module checks
	// first, under its own lock, and writes only statements that cannot fail on a
	// healthy disk.
	Extras []Statement
}

// Statement is one SQL statement on a table of the module's own. Arguments are
// int64, float64, string, []byte, bool or nil.
type Statement struct {
	SQL  string
	Args []any
}

// Columns reads the columns of one result row, counted from zero.
type Columns interface {
	Int64(i int) int64
	Text(i int) string
	Bytes(i int) []byte
	IsNull(i int) bool
}

// Module is another module's part of the database: a name, which prefixes its
// tables, and its migrations in order. They run at open, once each, in the same
// transaction as the engine's own.
type Module struct {
	Name       string
	Migrations []Migration
}

// Migration is one numbered step of a schema. Its number is its position in the
// list, from 1; a released one never changes.
type Migration struct {
	Name string
	SQL  string
}
