package cas

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// Backend is a place that keeps one item per resource and replaces it only if
// its version still stands. All methods may be called concurrently, and end soon
// after their context does.
//
// Errors are ErrRaced, or a *leasehold.Error: ReasonUnavailable or
// ReasonRateLimited where nothing was written for sure, ReasonUnknown where the
// answer to a Swap was lost, ReasonForbidden and so on. Any other error counts
// as ReasonUnavailable from a read and as ReasonUnknown from a Swap. No error
// may carry a lease id or a credential.
type Backend interface {
	// Load returns the item of a resource. Where there is none, it has the
	// zero Version and no row; Now is set all the same.
	Load(ctx context.Context, resource string) (Item, error)

	// Swap writes if v is still the version of the item, in one atomic step
	// with the records, and else returns ErrRaced; the zero Version is that of
	// an absent item. The answer is the item as written: its new Version, and
	// Now, the service's time when it answered.
	Swap(ctx context.Context, v Version, w Write) (Item, error)

	// Scan returns up to n items whose names begin with prefix and come after
	// the name after, in byte order of the names. Fewer than n: there are no
	// more.
	Scan(ctx context.Context, prefix, after string, n int) ([]Item, error)

	// Traits says what the service is like. It is called once.
	Traits() Traits

	// Close closes what the backend opened itself. Nothing is called after it.
	Close() error
}

// ErrRaced is the answer of a Swap whose version no longer stands: nothing was
// written. A backend whose client repeats requests by itself does not know that,
// because the first one may have won the race against the second, and returns
// ReasonUnknown instead.
var ErrRaced = errors.New("the item was changed meanwhile")

// Version is what a service calls the present state of an item, such as an ETag.
// The zero Version means that there is no item.
type Version string

// Item is what a service keeps for one resource.
type Item struct {
	Row     machine.Row
	Marks   []string // of the latest writes, newest first; see Write
	Version Version

	// Now is the service's time when it answered, never the client's. A service
	// with a coarse clock cuts it off, and says how coarse in Traits.Grain.
	Now time.Time
}

// Write is what a Swap stores.
type Write struct {
	Row machine.Row

	// Marks are to be stored with the row and come back in Item.Marks. The first
	// is this write's own, at random: after a lost answer it shows whether the
	// write happened.
	Marks []string

	// Records are for the history, of a backend that has one. Seq is the
	// backend's to fill in.
	Records []leasehold.Record
}

// Traits says what a service is like.
type Traits struct {
	// Kind is the store's kind, for errors.
	Kind string

	// Grain is how coarse the service's clock is: Item.Now may be up to that
	// much behind. A lease counts as ended only when its end is that long past.
	Grain time.Duration

	// MinTTL and MaxTTL are the service's limits, where narrower than
	// leasehold.MinTTL and leasehold.MaxTTL.
	MinTTL, MaxTTL time.Duration
}

// Finder is a Backend that finds items by lease id. Without it, calls need the
// resource, and ids are unique only on their resource.
type Finder interface {
	// Find returns the items whose row has this ID or Former. They may be a
	// little old: each is loaded before anything is decided.
	Find(ctx context.Context, id leasehold.ID) ([]Item, error)
}

// Notifier is a Backend that reports resources that others have freed.
type Notifier interface {
	// Notify calls ready when it will miss nothing from then on, and freed for
	// every resource that is freed, until ctx ends or the connection is lost. It
	// is then called again, after a while.
	Notify(ctx context.Context, ready func(), freed func(resource string)) error
}

// Historian is a Backend that keeps a history.
type Historian interface {
	leasehold.Historian

	// Append adds a record that changes no item: of a wait that failed.
	Append(ctx context.Context, r leasehold.Record) error
}
