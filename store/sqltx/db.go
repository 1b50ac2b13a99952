package sqltx

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
)

// DB is a database that keeps one row per resource and changes it in short
// transactions. It does SQL and nothing else: what may happen is decided by the
// function that it is given. All methods may be called concurrently, and end soon
// after their context does.
//
// Errors are a *leasehold.Error: ReasonUnavailable where nothing was written for
// sure, ReasonUnknown where the answer to a commit was lost and it cannot be found
// out, ReasonForbidden and so on. Any other error counts as ReasonUnavailable from a
// read and as ReasonUnknown from Step and Swap. No error may carry a lease id or a
// credential.
type DB interface {
	// Traits says what the database is like. It is called once.
	Traits() Traits

	// Step is one transaction: it locks and reads what n names, reads the time and
	// only then calls decide, writes what that returns and commits. Decide has no
	// side effects and may be called again: when a row appeared meanwhile, a unique
	// index refused an id, a transaction has to be repeated, or Write.Until has
	// passed. Where nothing is to be written, nothing is. Done has what the last
	// call of decide led to.
	Step(ctx context.Context, n Need, decide func(Found) Write) (Done, error)

	// Read reads what n names in one snapshot, without locks.
	Read(ctx context.Context, n Need) (Found, error)

	// List returns up to q.Limit rows that q lets through, in the byte order of
	// their resources, and the time.
	List(ctx context.Context, q ListQuery) ([]machine.Row, machine.Instant, error)

	// Forget deletes the rows of up to n leases whose end is recorded and longer
	// than age past, and those of the oldest ends beyond the newest keep. It
	// returns how many they were.
	Forget(ctx context.Context, age time.Duration, keep int64, n int) (int, error)

	// Records returns up to q.Limit records that q lets through, newest first. It
	// shows every record of an operation that was answered before the call, and
	// none above a number that a transaction under way may still commit.
	Records(ctx context.Context, q RecordQuery) ([]leasehold.Record, error)

	// After returns up to n records with a larger number, ascending, none missing
	// among them, and the number of the oldest record that is kept (zero: none).
	After(ctx context.Context, seq uint64, n int) (records []leasehold.Record, oldest uint64, err error)

	// Last returns the largest number that After may return; zero of an empty
	// history.
	Last(ctx context.Context) (uint64, error)

	// PurgePoint returns up to which number records are older than the retention
	// or beyond the newest keep, and how many of them are there that are not
	// purged yet.
	PurgePoint(ctx context.Context, retention time.Duration, keep int64) (through uint64, n int, err error)

	// DeletePurged deletes up to n purged records, and reports whether there may
	// be more.
	DeletePurged(ctx context.Context, n int) (more bool, err error)

	// Base counts what the database has given out and keeps, in one snapshot, for a
	// move.
	Base(ctx context.Context) (Base, error)

	// Close closes what the database opened itself. Nothing is called after it.
	Close() error
}

// Traits says what a database is like.
type Traits struct {
	Kind string // of the store, for errors

	// NoWaiting: Wait is refused as unsupported, because nothing would wake a
	// waiter but its own looks. The Manager backs off instead.
	NoWaiting bool

	// Serial: steps run one at a time, and nobody sees a lease as ended while a step
	// that keeps it alive is under way. So what was decided in time stays, however
	// long its commit takes.
	Serial bool

	// NoHistory: records are never kept; History and Watch are refused as
	// unsupported.
	NoHistory bool

	// Notes: rows keep their Notes, which holders in another mode of the database
	// left, and the Claims of an ended set that left one. Else a move into it would
	// lose them.
	Notes bool
}

// Need is what a step locks and reads.
type Need struct {
	// Resource names the row to lock. Empty: the row whose ID or Former is ID, the
	// first where both are there. Without either no row is needed. A row that is
	// not there needs no lock: its insert decides, and decide is called again for
	// those that lost.
	Resource string
	ID       leasehold.ID

	// Proposed is read as Found.Known and not locked: the row whose ID or Former
	// it is, and that is not Scoped.
	Proposed leasehold.ID

	// Holder locks all rows of that holder that are live, in the order of their
	// names. Due locks up to that many rows whose end is past and not recorded,
	// and passes over those that others have locked.
	Holder string
	Due    int

	// Live counts live leases under a lock that lets one such step through at a
	// time, of all and of Caller if it is not empty; no further than Most and
	// CallerMost, where -1 means that nobody wants to know.
	Live             bool
	Caller           string
	Most, CallerMost int64

	// Control locks the settings, the purge point and the mark of a move against
	// other steps that change them.
	Control bool

	// Alone waits until no other step is under way, and keeps others out until
	// the end: for the mark of a move, which none may overlook. It includes
	// Control. Base counts then what Found.Base has.
	Alone, Base bool
}

// Found is what a step has locked and read.
type Found struct {
	Now machine.Instant // read after every lock was held

	Row     machine.Row // the row that was asked for; none: zero but for the Resource
	Version int64       // of Row, as written; zero: no row, or versions are not kept
	Known   *machine.Row
	Rows    []machine.Row // of a holder, or due

	Waiting machine.Time // until when others wait for Row; see Write.Waiting

	Live, CallerLive int64
	Counted          bool // Need.Live was set

	Base    *Base // if Need.Base was set
	Control Control
}

// Control is what concerns all leases. It is read in every step.
type Control struct {
	Version  int64          // another one whenever anything here changes
	Settings map[string]any // int64 and bool values that were ever set; shared, never changed
	Purged   uint64         // records up to this number are not shown any more
	Mark     Mark
}

// Mark is the mark of a move, as package internal/move has it, but with the end of
// its Leaving on the database's clock.
type Mark struct {
	ID    string
	State move.State
	Peer  string
	Until machine.Time
}

// Write is what a step stores, in one transaction with the answer. The zero Write
// stores nothing.
type Write struct {
	// Rows are the rows as they become, at most one per resource, with Version as
	// their version. They replace what is there.
	Rows    []machine.Row
	Version int64

	// Grant: the token of the last of Rows is drawn now, under the locks, larger
	// than every one before. Records without a token get it too. Done has it.
	Grant bool

	// Until: nothing may be written any more at this time of the database's
	// clock. Zero: no limit.
	Until machine.Time

	// Records are for the history. They are numbered here, in their order, after
	// the rows are written. Kept says which are stored; others only use up their
	// number. Of a database without a history there are none.
	Records []leasehold.Record
	Kept    []bool

	// Waiting notes in the row that was asked for that somebody waits until then,
	// so that a step that frees it or shortens its lease notifies.
	Waiting machine.Time

	// Forget deletes the row of that resource, whose lease has ended, before Rows
	// are written: its id is wanted elsewhere.
	Forget string

	// Settings are stored, int64 and bool by key; with ResetSettings no others
	// remain. Purged hides records up to a number.
	Settings      map[string]any
	ResetSettings bool
	Purged        uint64

	// For moves, with Need.Alone: the mark; deleting up to so many rows that are
	// not Scoped, before Rows are written; raising the last token to at least this
	// one.
	Mark  *Mark
	Clear int
	Token uint64
}

// IsZero reports whether there is nothing to write.
func (w *Write) IsZero() bool {
	return len(w.Rows) == 0 && len(w.Records) == 0 && w.Waiting == 0 && w.Forget == "" &&
		len(w.Settings) == 0 && !w.ResetSettings && w.Purged == 0 && w.Mark == nil && w.Clear == 0 && w.Token == 0
}

// Done is what a step did.
type Done struct {
	Found   Found  // what its last decision was made on
	Token   uint64 // drawn by Write.Grant
	Cleared int    // rows deleted by Write.Clear

	// Now is the database's time at the latest moment that is known: after the
	// write, if there was one. Asked is this process's time before it was read: no
	// more than the time since Asked has passed after Now. Traits.Serial needs none.
	Now   machine.Instant
	Asked time.Time
}

// Swapper is a DB that can replace a row in a single statement, where the store
// still knows it.
type Swapper interface {
	// Swap writes if the row still has its version, Control still stands, and the
	// time is neither before From nor at Until; else, and where a unique index
	// refuses the id, it returns ErrRaced, and nothing was written. Where the answer
	// is lost it returns ReasonUnknown, and the store finds out by the version.
	// There is one row and at most one record. Done.Found is not set.
	Swap(ctx context.Context, s Swap) (Done, error)
}

// Swap is a Write of one row that was decided without reading.
type Swap struct {
	Resource string
	Before   int64        // the version that it must have; zero: there is no row
	Control  int64        // Control.Version that the decision was made with
	Proposed leasehold.ID // that may be the Former of no row; zero: none
	From     machine.Time
	Write
}

// ErrRaced is the answer of a Swap whose row, control or time is another.
var ErrRaced = errors.New("the row was changed meanwhile")

// Notifier is a DB that reports resources that others have freed.
type Notifier interface {
	// Notify calls ready when it will miss nothing from then on, and freed for
	// every resource that is freed while somebody waits, until ctx ends or the
	// connection is lost. It is then called again, after a while.
	Notify(ctx context.Context, ready func(), freed func(resource string)) error
}

// ListQuery says which rows to list.
type ListQuery struct {
	Resource string // exactly this one
	Prefix   string // of the resource, in bytes
	After    string // resources that come later
	Holder   string
	Live     bool // only leases that are live at the time of the query
	Unscoped bool // no Scoped rows
	Limit    int
}

// RecordQuery says which records to return.
type RecordQuery struct {
	leasehold.HistoryRequest        // Cursor is not looked at; Limit is set
	Below                    uint64 // numbers below; zero: all
}

// Base is what a database has given out and keeps.
type Base struct {
	Live, Ended int64  // rows that are not Scoped, of which Ended are only remembered
	Scoped      int64  // live rows that are
	Notes       int64  // rows that are not Scoped, have Notes, and did not end more than Memory ago
	Token       uint64 // the highest ever given out, or above it
	Records     bool   // it has, or had, records
	Control     Control
}
