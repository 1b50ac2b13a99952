package leasehold

import (
	"context"
	"sync"
	"time"
)

// Store is what a driver implements: exclusive, time-bound, fenced leases on
// named resources. Programs use a Manager; drivers, APIs and wrappers use a
// Store.
//
// The contract, which package storetest checks line by line:
//
//   - Exclusion. Between the grant of a lease and its end no other lease on the
//     same resource is granted, whatever the number of callers and processes.
//   - Time. Only the store's own clock decides. A lease is never reported or
//     honoured as active after its end, whether or not anything cleaned up; an
//     ended lease never blocks an acquire.
//   - Tokens. Every grant has a token larger than every earlier token of that
//     resource, across release, expiry, purge, restart, crash and restore.
//   - Identity. Renew, Release, Change and Transfer act on exactly the lease
//     whose id is shown. A wrong id changes nothing, and neither does a Holder
//     or Token that was sent and does not match.
//   - Durability. An answer, whether a grant, a refusal or a read, is returned
//     only when everything in it would survive a crash of the store.
//   - Errors. Every error is an *Error whose Reason names the case; see the
//     table at Reason. A request that breaks a limit (see Limits) is refused
//     with ErrInvalid and changes nothing.
//   - Context. A call ends soon after its context does. If the outcome is then
//     unknown, the error is ErrUnknown and wraps the context's cause; the store
//     releases a grant that nobody received and that had no proposed id.
//   - Secrets. No answer carries an ID except to the caller that showed or
//     proposed it, or whose grant it is.
//
// All methods may be called concurrently. Further powers are optional
// interfaces of one method, found by type assertion; a wrapper that cannot know
// in advance implements them all and answers ErrUnsupported, which every caller
// treats like a missing method.
type Store interface {
	// Acquire tries once. Success is a new lease, or the one already held if
	// the proposed ID and the Holder are its own (Grant.Idempotent). Otherwise
	// the error is ErrHeld with Current set.
	Acquire(ctx context.Context, r AcquireRequest) (Grant, error)

	// Renew restarts the ttl of an active lease, and never revives an ended
	// one. The new end is counted from now, never from an earlier end.
	Renew(ctx context.Context, r RenewRequest) (Lease, error)

	// Release ends an active or breaking lease at once. With waiters, the
	// release and the next grant are one atomic step. The answer is the lease
	// as it ended.
	Release(ctx context.Context, r ReleaseRequest) (Lease, error)

	// Status describes one resource. A resource that was never leased is not an
	// error: it is available.
	Status(ctx context.Context, resource string) (Status, error)

	// Close ends background work and closes what the store opened itself, never
	// a client that was passed to it. Waiters get ErrUnavailable.
	Close() error
}

// AcquireRequest requests a lease.
type AcquireRequest struct {
	Resource string

	// Claims, in place of Resource, request one lease on several names or patterns,
	// all or none, with one id and one token. The store names the lease (Lease.Resource
	// begins with SetPrefix). Acquiring again with the id of such a lease and the same
	// claims in other modes upgrades or downgrades it, with a new token. A store that
	// does not grant them answers ErrUnsupported before anything happens.
	Claims []Claim

	Holder string

	// ID proposes the lease's id, which makes the request safe to repeat after
	// a lost answer. Zero: the store makes one.
	ID ID

	// TTL is the length of the lease, or Infinite. Zero: the store's default
	// (setting default_ttl_seconds). It is cut to whole milliseconds.
	TTL time.Duration

	// MaxRenewals limits renewals; Unlimited lifts the limit. Nil: the store's
	// default (setting max_renewals).
	MaxRenewals *int

	Metadata map[string]string

	// Priority is that of a waiter: higher ones are served first; within one it is
	// first come, first served. An Acquire passes waiters of lower priority that keep
	// Claims free.
	Priority int

	// Timeout ends the wait. Zero: the store's default (setting
	// acquisition_timeout_ms). NoTimeout: only the context ends it.
	Timeout time.Duration

	// Sequence says that all requests of this holder are one sequence of work, which
	// does nothing else while it waits. A store that knows who waits for whom then
	// refuses a wait that could never end, at once, with ReasonDeadlock. The embedded
	// engine does; other stores let it wait.
	Sequence bool

	// Caller is whose live leases are counted for max_leases_per_caller. A
	// server fills in the name of the token; it is not sent over the wire.
	// Empty: not counted.
	Caller string
}

// NoTimeout makes Wait wait until its context ends.
const NoTimeout time.Duration = -1

// RenewRequest restarts the ttl of an active lease.
type RenewRequest struct {
	ID ID

	// Resource is the lease's resource. It may be left empty only where the
	// store is a Finder.
	Resource string

	// TTL replaces the lease's ttl. Zero keeps it.
	TTL time.Duration

	// Holder and Token must match the lease, unless they are left zero: no lease
	// has an empty holder or the token 0, so zero is never a value to match. A
	// caller whose own variable may be unset has to check that first; the JSON
	// API refuses such values where they are sent.
	Holder string
	Token  uint64
}

// ReleaseRequest ends a lease.
type ReleaseRequest struct {
	ID       ID
	Resource string // as in RenewRequest
	Holder   string // as in RenewRequest
	Token    uint64 // as in RenewRequest

	// Why goes into the history record's reason.
	Why string

	// Note is for the next holder, in Lease.Notes. A store that keeps none answers
	// ErrUnsupported.
	Note string
}

// WhyAbandoned is the Why of a release of a grant that nobody received.
const WhyAbandoned = "abandoned"

// Status is what is known about one resource.
type Status struct {
	Resource string

	// Lease is the current lease, or the last one while it is remembered, or
	// nil. Its State is that at the moment of the answer.
	Lease *Lease

	// Leases are all live leases that cover the resource, by token, where there is
	// another than Lease: shared ones, and those of several resources. Else nil.
	Leases []Lease

	// Waiters are in the order in which they would be served, without places
	// that are kept for an absent client.
	Waiters []Place
}

// Locked reports whether the resource cannot be acquired right now.
func (s Status) Locked() bool { return s.Lease != nil && s.Lease.State.Locked() }

// Check reports whether the holder of this token may still act on the resource:
// for a guard that cannot keep the highest token itself.
func (s Status) Check(token uint64) bool {
	for _, l := range s.Leases {
		if l.Token == token {
			return true
		}
	}
	return s.Locked() && s.Lease.Token == token
}

// Place is one waiter's place in a resource's queue.
type Place struct {
	Holder   string
	Priority int
	Since    time.Time // wall clock, for people
	Position int       // 1 is next
}

// Waiter is a store with a queue of its own.
type Waiter interface {
	// Wait acquires, and queues while the resource is held: higher priority
	// first, then first come, first served. The waiter is woken by the release,
	// break or expiry itself. It ends with ErrTimeout (Waited set) after
	// r.Timeout. When its context ends it is gone at once; a waiter that
	// proposed an ID keeps its place for KeptPlace after either, is skipped
	// while absent, and resumes it by waiting again with the same ID.
	// The earlier request, if it still waits, then gets ReasonSuperseded.
	Wait(ctx context.Context, r AcquireRequest) (Grant, error)
}

// KeptPlace is how long the queue keeps the place of an absent waiter that
// proposed an id.
const KeptPlace = 30 * time.Second

// Breaker is a store that can break leases.
type Breaker interface {
	// Break ends the current lease without its id. The answer is the lease as
	// it then stands: Broken, or Breaking with Remaining set. A break never
	// lengthens anything. Where nothing is active or breaking the error is
	// ErrNotFound or ErrLost.
	Break(ctx context.Context, r BreakRequest) (Lease, error)
}

// BreakRequest breaks the lease on a resource.
type BreakRequest struct {
	Resource string

	// Period is how long the holder may go on, at most MaxBreakPeriod and never
	// beyond the lease's own end. Nil and zero free the resource at once.
	Period *time.Duration

	// Why goes into the history record's reason.
	Why string
}

// Changer is a store that can swap a lease's id.
type Changer interface {
	// Change replaces the id of an active lease; token and end stay. Repeating
	// a change whose answer was lost succeeds.
	Change(ctx context.Context, r ChangeRequest) (Lease, error)
}

// ChangeRequest swaps a lease's id for a proposed one.
type ChangeRequest struct {
	ID       ID
	Resource string // as in RenewRequest
	Proposed ID     // required
	Holder   string // as in RenewRequest
	Token    uint64 // as in RenewRequest
}

// Transferer is a store that can transfer a lease to another holder.
type Transferer interface {
	// Transfer moves an active lease to a new holder without freeing it: new
	// holder, id and token; end, renewals and limits stay; waiters keep waiting.
	// The answer carries the new id only if none was proposed: then both sides
	// know it. The old id ends as Released.
	Transfer(ctx context.Context, r TransferRequest) (Lease, error)
}

// TransferRequest transfers a lease to another holder.
type TransferRequest struct {
	ID       ID
	Resource string            // as in RenewRequest
	To       string            // the new holder; another one than now
	Proposed ID                // the new holder's id; zero: the store makes one
	Metadata map[string]string // replaces the metadata unless nil
	Holder   string            // as in RenewRequest
	Token    uint64            // as in RenewRequest
	Note     string            // for the new holder, as in ReleaseRequest
}

// Finder is a store that finds a lease by its id alone.
type Finder interface {
	// Find returns the lease behind an id, in any state still known. An ended
	// lease is remembered until the resource's next grant, or for an hour, or
	// until 100,000 others have ended; after that it is ErrNotFound.
	Find(ctx context.Context, id ID) (Lease, error)
}

// Lister is a store that lists its leases.
type Lister interface {
	// List returns a page of leases, ordered by resource, without ids. Leases
	// that come and go between pages may or may not show; one that is there
	// throughout shows exactly once.
	List(ctx context.Context, r ListRequest) (LeasePage, error)
}

// ListRequest says which leases to list. The zero request lists all that are
// active or breaking.
type ListRequest struct {
	Resource  string // exactly this one, or a set that has it
	Prefix    string // of the resource's name, in bytes
	Holder    string // exactly this one
	States    []State
	Metadata  map[string]string // all of these pairs
	Namespace string            // only leases with a claim in this namespace
	Path      string            // and there one that overlaps with this pattern
	Limit     int               // 1 … MaxPage; zero: DefaultPage
	Cursor    string            // from the page before, with the same filters
}

// LeasePage is one page of a list. Cursor is empty on the last one.
type LeasePage struct {
	Leases []Lease
	Cursor string
}

// HolderReleaser is a store that can force-release a holder.
type HolderReleaser interface {
	// ReleaseHolder ends every lease of one holder in one atomic step, each
	// with its history record, and answers how many there were.
	ReleaseHolder(ctx context.Context, holder, why string) (int, error)
}

// ChildReleaser is a store that can force-release a holder together with its children.
type ChildReleaser interface {
	// ReleaseWithChildren is ReleaseHolder, in the same one step, also for the holders
	// whose names begin with the holder's and a slash: the sub-agents of a session, say.
	ReleaseWithChildren(ctx context.Context, holder, why string) (int, error)
}

// Historian is a store that keeps an audit history.
type Historian interface {
	// History returns a page of records, newest first.
	History(ctx context.Context, r HistoryRequest) (HistoryPage, error)
}

// Cleaner is a store that can clean up on request.
type Cleaner interface {
	// Cleanup does what the background sweep does: records due expiries and
	// purges what is past its retention. Nothing else depends on it.
	Cleanup(ctx context.Context) (Cleaned, error)
}

// Cleaned says what a Cleanup did.
type Cleaned struct {
	Expired       int // leases found past their end and not yet recorded
	HistoryPurged int // history records dropped by retention
	Forgotten     int // resources whose last lease is no longer remembered
}

// Configurer is a store that keeps run-time settings.
type Configurer interface {
	// Settings returns every known setting with its present value, by key.
	Settings(ctx context.Context) ([]Setting, error)

	// SetSetting changes one: effective at once, kept across restarts. An
	// unknown key, a wrong type or a value out of range is ErrInvalid.
	SetSetting(ctx context.Context, key string, value any) (Setting, error)
}

// Backuper is a store that can copy itself while it runs.
type Backuper interface {
	// Backup writes a consistent copy to path, which must not exist.
	Backup(ctx context.Context, path string) error
}

// Watcher is a store that reports records as they are committed.
type Watcher interface {
	// Watch calls each for every record that matches, in commit order and only
	// once it is durable, until its context ends or each returns an error, which
	// Watch returns. A slow watcher blocks nothing: one that falls too far behind
	// gets Reset instead of what it missed, or ends with ErrUnavailable.
	Watch(ctx context.Context, r WatchRequest, each func(Notice) error) error
}

// BatchWatcher is a Watcher for servers with many watchers: it reports several
// notices at a time, and all watchers share them.
type BatchWatcher interface {
	// WatchBatches is Watch, but calls each with one or more notices. The slice
	// is valid until each returns; the notices must not be changed.
	WatchBatches(ctx context.Context, r WatchRequest, each func([]*SharedNotice) error) error
}

// SharedNotice is a notice that many watchers get.
type SharedNotice struct {
	Notice
	once    sync.Once
	encoded []byte
}

// Encode returns the notice as encode writes it. Encode is called once for all
// watchers, so they must pass the same function.
func (n *SharedNotice) Encode(encode func(Notice) []byte) []byte {
	n.once.Do(func() { n.encoded = encode(n.Notice) })
	return n.encoded
}

// WatchRequest says what to watch.
type WatchRequest struct {
	Prefix string // of the resource's name
	Holder string // exactly this one

	// After resumes a watch: records with a larger Seq come first, as far as the
	// store still has them in memory. Zero: only what happens from now on.
	After uint64
}

// Notice is what a watcher gets.
type Notice struct {
	Record

	// Reset says that records are missing up to this Seq, so a watcher that
	// keeps a copy must load it again. It is the first notice of a watch whose
	// After is too old, and comes later if the watcher falls too far behind. The
	// rest of the Record is empty.
	Reset bool
}

// KindRefused notifies watchers of a refused request. It has no Seq and is never
// part of the history.
const KindRefused Kind = "refused"
