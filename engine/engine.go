// Package seam is how another module joins the embedded engine: it decides
// about one resource under the engine's lock and commits rows of its own in
// the same transaction as the lease. The Azure Blob door checks a lease and
// writes a blob through it, in one atomic step.
//
// The package holds only the interface, so that a door sees no store; the
// program wires the two together. It is not part of the root package because a
// decision is made of the machine's rows, and the root must not import the
// machine.
package engine

import (
	"context"

	"github.com/leasehold/leasehold/machine"
)

// Engine is the embedded engine as another module sees it.
type Engine interface {
	// Do runs decide under the engine's lock, with the resource's row as it
	// stands, and makes the decision durable before it returns nil. Decide must
	// not block, do I/O, or call the engine. If decide returns an error, nothing
	// is written and Do returns that error as it is, when the row that decide saw
	// is durable.
	//
	// A module whose decision depends on rows of its own must keep others from
	// changing them between reading them and the return of Do: take a lock per
	// key.
	Do(ctx context.Context, resource string, decide func(View) (Decision, error)) error

	// Query reads committed rows of the module's own tables, calling row for
	// each. It sees everything that Do has acknowledged.
	Query(ctx context.Context, sql string, args []any, row func(Columns) error) error

	// Look shows the rows of these resources as they stand, in order. What it has
	// shown is durable when it returns nil, and must not be told before. It is for
	// showing, not for deciding.
	Look(ctx context.Context, resources []string, show func(i int, v View)) error

	// Names returns the resources with this prefix that have a row, sorted.
	Names(ctx context.Context, prefix string) ([]string, error)
}

// View is what a decision is made from.
type View struct {
	Row   machine.Row // the zero Row with a Resource where nothing is known
	Now   machine.Instant
	Fresh machine.Fresh // for a grant; used up only if Outcome.Granted; empty in Look
}

// Decision is what to write.
type Decision struct {
	// Outcome is the machine's answer. Its zero value leaves the lease alone.
	Outcome machine.Outcome

	// Forget drops the resource's row altogether, as when a blob is deleted.
	// Waiters are then served.
	Forget bool

	// Extras commit together with the outcome, in order. A statement that fails
	// fails the whole commit and everybody else's decisions in it, so a module
	// writes only statements that cannot fail on a healthy disk: it checks
	// first, under its own lock.
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

// Module is another module's claim on the database: a name, which its tables
// carry as a prefix, and its migrations in order. They run at open, once each,
// in the same transaction as the engine's own.
type Module struct {
	Name       string
	Migrations []Migration
}

// Migration is one numbered step of a schema. Its number is its place in the
// list, from 1; a released one never changes.
type Migration struct {
	Name string
	SQL  string
}
