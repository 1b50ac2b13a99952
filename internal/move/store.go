// Package move carries the leases of one store over to another, so that at no time
// both grant: whatever is killed, however late it wakes up, however many run it.
//
// Each store has a mark, kept with its leases, which every operation obeys in the
// same atomic step as it reads or writes a lease. A move is a sequence of swaps of
// the two marks with a copy between them:
//
//	source  open     → leaving   no changes from here on; opens by itself if the mover dies
//	target  open     → arriving  only if it is empty; closed until the end
//	                             the leases, the token base, the settings are copied
//	source  leaving  → left      the commit point: only while leaving still stands
//	target  arriving → open
//	source  left     → moved     deletes the leases that are on the target now
//
// Killed before the commit point, the source opens again when leaving has run out,
// and the same command starts the copy over. Killed after it, the same command does
// the rest. The source is always closed first: whoever has put its own run into the
// source's mark knows that no earlier run can commit, and may clear the target.
package move

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold/machine"
)

// State is what a mark says about its store.
type State string

const (
	Open     State = ""         // nothing is closed
	Leaving  State = "leaving"  // a source: reads only, until the mark runs out
	Left     State = "left"     // a source after the commit point: closed for good
	Moved    State = "moved"    // left, and the target is open: its leases are deleted; may be a target
	Arriving State = "arriving" // a target: closed to everything but its move
)

// Mark is a store's part in a move. The zero Mark is of a store that never was in one.
type Mark struct {
	// ID names the move and the run of the command that wrote the mark. It stays in the
	// mark of a store that is open again. Stores compare it and never look inside.
	ID    string
	State State
	// Peer is the other store's URL, without secrets: for people.
	Peer string
	// Lasts is how long Leaving stands: in a mark that is written, from now on the
	// store's clock; in one that was read, what is left of it. Else zero.
	Lasts time.Duration
}

// Is says whether two marks are the same to SwapMoveMark: in ID and State.
func (m Mark) Is(other Mark) bool { return m.ID == other.ID && m.State == other.State }

// Refusal says why a store with this mark refuses an operation: a change, or a mere
// read; nil if it does not. It is the Cause of a ReasonUnavailable.
func (m Mark) Refusal(change bool) error {
	switch {
	case m.State == Leaving && change:
		return refusal{"the leases are being moved to " + m.Peer, "its leases are being moved to another store"}
	case m.State == Left || m.State == Moved:
		return refusal{"the leases were moved to " + m.Peer, "its leases were moved to another store"}
	case m.State == Arriving:
		return refusal{
			"the leases of " + m.Peer + " are being moved here; leasehold move ends it",
			"leases are being moved to it",
		}
	}
	return nil
}

// refusal has a text for who runs the store, and one for a server's clients, which
// need not know the other store's address.
type refusal struct{ text, public string }

func (r refusal) Error() string  { return r.text }
func (r refusal) Public() string { return r.public }

// Lease is a row on its way.
type Lease struct {
	// Row is as it stood when it was read (machine.Row.At). Its Ends has no meaning.
	Row machine.Row
	// Remaining is leasehold.Infinite without an end, 0 for a lease that has ended and is
	// remembered. The target never gives less.
	Remaining time.Duration
}

// Summary is what a store has to move.
type Summary struct {
	Live, Ended int64          // leases that go along: of which Ended are only remembered
	Scoped      int64          // blob leases, which stay
	Notes       int64          // leases that go along and have notes
	Token       uint64         // the highest token ever given out, or a number above it
	Settings    map[string]any // as stored: int64 and bool; keys at their default may be missing
}

// ErrMarkChanged says that the mark is not what the caller takes it for. Nothing was
// written.
var ErrMarkChanged = errors.New("another run of leasehold move has changed the mark")

// InUseError refuses a target that is not empty.
type InUseError struct{ Why string } // such as "it has 3 leases"

func (e *InUseError) Error() string { return "the target is in use: " + e.Why }

// Store is a store that leases can be moved from and to. All of it is one short
// atomic step a call, against all operations of all processes. Errors are ErrMarkChanged,
// *InUseError, or anything else, after which nobody knows whether it happened.
type Store interface {
	// MoveMark reads the mark. A Leaving that has run out is read as Open, with its ID.
	MoveMark(ctx context.Context) (Mark, error)

	// SwapMoveMark replaces the mark if it still Is old; no operation that has not seen
	// next commits after it. A Leaving that has run out counts as Open here too, for
	// ever: it can be neither prolonged nor committed. (Where the clock may step back,
	// the first operation that finds it run out makes it Open.) Besides:
	//   - Open → Arriving is refused with *InUseError unless InUse is "";
	//   - Left → Moved deletes all leases that are not Scoped.
	SwapMoveMark(ctx context.Context, old, next Mark) error

	// InUse says what keeps the store from being a target: leases, tokens given out,
	// history. It is "" for one that is empty, and for one that is Moved.
	InUse(ctx context.Context) (string, error)

	// KeepsNotes says whether Import keeps what holders left for the next ones. A source
	// that has such notes is not moved into a target that would lose them.
	KeepsNotes() bool

	// MoveSummary counts and reads; of a source that is Leaving it does not change.
	MoveSummary(ctx context.Context) (Summary, error)

	// Export returns up to n leases that are not Scoped, with their ids, whose resource
	// is after the given one, in the order of the resources. None: that was all.
	Export(ctx context.Context, after string, n int) ([]Lease, error)

	// Clear deletes leases that are not Scoped, and says whether there are more. Like
	// the following two it is refused with ErrMarkChanged unless the mark Is the given one.
	Clear(ctx context.Context, mark Mark) (more bool, err error)
	// Import writes leases. One of the same resource is replaced.
	Import(ctx context.Context, mark Mark, leases []Lease) error
	// ImportBase makes every later token larger than this one and than all that this
	// store ever gave out, and its settings these.
	ImportBase(ctx context.Context, mark Mark, token uint64, settings map[string]any) error
}
