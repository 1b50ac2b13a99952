package local

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// Journal makes the engine's decisions durable and keeps the history. The
// engine calls Load and Commit from one goroutine at a time, never both at
// once; the reading methods may be called at any time from any goroutine, also
// while a Commit runs.
type Journal interface {
	// Load drops every open handle, opens the journal again, and calls each for
	// every row, in byte order of the resource. The engine calls it at the start
	// and after a failed Commit: it must report only what is on disk.
	Load(ctx context.Context, each func(machine.Row) error) (JournalState, error)

	// Commit writes the batch in one atomic step and returns when it is
	// durable. After an error the journal is unusable until the next Load,
	// whose JournalState.Commit says whether the batch is on disk after all.
	Commit(b *Batch) error

	// History returns up to q.Limit committed records, newest first.
	History(ctx context.Context, q HistoryQuery) ([]leasehold.Record, error)

	// PurgePoint finds the records to drop: those older than before and those
	// beyond the newest keep. It returns the last one's seq and how many up to it
	// are not purged yet; zero, zero if there are none.
	PurgePoint(ctx context.Context, before time.Time, keep int64) (through uint64, n int, err error)

	Close() error
}

// Querier is a journal that modules can read their tables from.
type Querier interface {
	// Query calls row for each row of the result, until it returns an error.
	Query(ctx context.Context, sql string, args []any, row func(engine.Columns) error) error
}

// Spacer is a journal that knows when its disk is full.
type Spacer interface {
	// LowOnSpace reports whether the disk is full and the reserve for that case
	// is in use: only what leases and deletes need should be written.
	LowOnSpace() bool
}

// Counters are saved with every commit.
type Counters struct {
	Commit  uint64       // number of the last batch
	Clock   machine.Time // the engine's clock at that batch
	Reading Reading      // the machine's, right after; a backup has none
	Token   uint64       // the last token given out
	Seq     uint64       // the last history record's number
	Purged  uint64       // records up to here are purged: hidden at once, deleted later
	Kept    int64        // how many records are not purged
}

// JournalState is what a journal knows besides the rows.
type JournalState struct {
	Counters
	Settings map[string]any // int64 or bool; only those ever set
}

// Batch is what one commit writes, all of it or nothing. The journal must not
// keep or change any part of it after Commit returns.
type Batch struct {
	Counters
	Rows     []RowChange // at most one for a resource
	Records  []leasehold.Record
	Settings []leasehold.Setting
	Extras   []engine.Statement
}

// RowChange is a row to write, or, if Gone, to delete.
type RowChange struct {
	machine.Row
	Gone bool
}

// HistoryQuery selects records. Zero values do not filter.
type HistoryQuery struct {
	Resource, Prefix, Holder string
	Kind                     leasehold.Kind
	Since, Until             time.Time // since inclusive, until exclusive
	Below                    uint64    // only records with a smaller seq
	Limit                    int       // always set
}
