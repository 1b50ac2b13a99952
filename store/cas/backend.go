package cas

import (
	"context"
	"errors"
	"strconv"
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
	// with a coarse clock cuts it off, and says how coarse in Traits.Grain. Of a
	// service with Traits.OwnExpiry, which has no clock to read, it is the
	// client's, which must never step; only what remains counts there.
	Now time.Time

	// Settings is the text of the run-time settings when the item was read or
	// written, of a Configurer. Items of a Scan or a Find need none.
	Settings string
}

// Write is what a Swap stores.
type Write struct {
	Row machine.Row

	// Was is the item that is replaced.
	Was Item

	// TTL is how long the lease lasts from now on, or Infinite, for a service
	// with Traits.OwnExpiry. Zero: its end stays as it is.
	TTL time.Duration

	// Marks are to be stored with the row and come back in Item.Marks. The first
	// is this write's own, at random: after a lost answer it shows whether the
	// write happened.
	Marks []string

	// Records are for the history, of a backend that has one. Seq is the
	// backend's to fill in.
	Records []Record

	// Settings is the text of the run-time settings by which it was decided. A
	// Configurer writes only if that still stands, and else returns ErrRaced.
	Settings string
}

// Record is a record for the history.
type Record struct {
	leasehold.Record

	// Kept is false where the settings want no history: it is numbered and
	// watchers get it, but History does not show it. The backend drops it when
	// it likes.
	Kept bool
}

// Traits says what a service is like.
type Traits struct {
	// Kind is the store's kind, for errors.
	Kind string

	// Grain is how coarse the service's clock is: Item.Now may be up to that
	// much behind. A lease counts as ended only when its end is that long past.
	Grain time.Duration

	// OwnExpiry says that the service itself ends leases, and has no clock to
	// read: an item that is there is live, and one that has ended is gone. A Swap
	// of a row that is neither active nor breaking deletes the item. Row.Ends of a
	// loaded item is Now and the ttl, unless the backend is a Timer and was asked.
	OwnExpiry bool

	// TimerGrain is how coarse a Timer is: a lease ends up to that much later
	// than it says.
	TimerGrain time.Duration

	// OwnTokens says that the service numbers its writes: a row without a token
	// gets the number of its Swap, and the answer has it.
	OwnTokens bool

	// OwnIndex says that a Swap returns ErrRaced if the row's id is new on it and
	// known elsewhere, so that ids need not be looked up before.
	OwnIndex bool

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

// Timer is a Backend with Traits.OwnExpiry that can tell how long leases last.
type Timer interface {
	// Remaining sets Row.Ends of the items, no later than they end for sure.
	Remaining(ctx context.Context, items []Item) error
}

// Resolver is a Backend whose items go away together with their marks.
type Resolver interface {
	// Resolve says what became of a write whose answer was lost, by its mark, and
	// the token if it gave one. If it did not happen, it never will: an error is
	// the answer where that cannot be known.
	Resolve(ctx context.Context, mark string) (token uint64, happened bool, err error)

	// Confirm makes sure of what the lost answer of a write would have said: the
	// item has its mark. ErrRaced: the lease has ended since.
	Confirm(ctx context.Context, mark string) error
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
	Append(ctx context.Context, r Record) error
}

// Follower is a Historian that others can follow: it makes the store a
// leasehold.Watcher.
type Follower interface {
	Historian

	// Last returns the Seq of the newest record, 0 of an empty history. What
	// the caller has written before is numbered by then.
	Last(ctx context.Context) (uint64, error)

	// After returns up to n records with a larger Seq, ascending, none missing
	// between them, and the Seq of the oldest one that is there (0: none).
	After(ctx context.Context, seq uint64, n int) (records []leasehold.Record, oldest uint64, err error)
}

// Purger is a Historian with a retention.
type Purger interface {
	// Purge drops the records from before a time, and the oldest beyond keep,
	// and writes Purged(count, through) in the same step, with At. It answers
	// how many it dropped. Dropping only the record of the last purge, or only
	// one record to make room for the record of it, would go on for ever.
	Purge(ctx context.Context, before time.Time, keep int64) (int, error)
}

// Purged is the record of a purge, without its time: how many records went, and
// the Seq of the last of them.
func Purged(count int, through uint64) leasehold.Record {
	return leasehold.Record{
		Kind: leasehold.KindPurged, Why: "retention",
		Details: map[string]string{"count": strconv.Itoa(count), "through": strconv.FormatUint(through, 10)},
	}
}

// Configurer is a Backend that keeps the run-time settings, as one text. It makes
// the store a leasehold.Configurer whose settings all steer it, at once and on
// every server: Load answers the text with the item, and Swap checks it.
type Configurer interface {
	// LoadSettings returns the text, empty before the first SwapSettings, and
	// the service's time.
	LoadSettings(ctx context.Context) (text string, now time.Time, err error)

	// SwapSettings replaces the text if it is still old, in one step with the
	// record, and else returns ErrRaced.
	SwapSettings(ctx context.Context, old, text string, r Record) error
}

// Counter is a Backend that counts live leases: for the settings max_leases and
// max_leases_per_caller, which steer nothing without it.
type Counter interface {
	// Count returns how many leases are live now and, if caller is not empty,
	// how many of them have that caller. It need not count beyond most.
	Count(ctx context.Context, caller string, most int64) (live, callers int64, err error)
}

// HolderSwapper is a Backend that can write all items of a holder in one step. It
// makes the store a leasehold.HolderReleaser.
type HolderSwapper interface {
	// LoadHolder returns the items of which the holder has, or had, the lease and
	// whose state as last written is active or breaking, each with Settings.
	LoadHolder(ctx context.Context, holder string) ([]Item, error)

	// SwapHolder makes all the writes in one step, if every version still stands
	// and the holder has no other such items, and else returns ErrRaced.
	SwapHolder(ctx context.Context, holder string, writes []VersionedWrite) error
}

// VersionedWrite is a Write and the version that it needs.
type VersionedWrite struct {
	Version Version
	Write
}

// Sweeper is a Backend that knows which leases have ended without a record of it.
// With a Historian and a Configurer, it makes the store record ends as they fall
// due.
type Sweeper interface {
	// Due returns up to n items whose state as last written is active or breaking
	// and whose end is past, and how long it is until the next end: negative
	// if there is none. It is ignored if n items are returned.
	Due(ctx context.Context, n int) (items []Item, next time.Duration, err error)
}
