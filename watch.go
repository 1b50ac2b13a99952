package leasehold

import "context"

// Watcher is a store that tells of what happens as it happens.
type Watcher interface {
	// Watch calls each for every record that matches, in commit order and only
	// once it is durable, until its context ends, each returns an error, which
	// Watch returns, or the caller falls too far behind, which is
	// ErrUnavailable: a slow watcher is cut off and never blocks anybody.
	Watch(ctx context.Context, r WatchRequest, each func(Notice) error) error
}

// WatchRequest says what to watch.
type WatchRequest struct {
	Prefix string // of the resource's name
	Holder string // exactly this one

	// After resumes a watch: records with a larger Seq are told first, as far
	// as the store still has them at hand. Zero: only what happens from now on.
	After uint64
}

// Notice is one thing that a watcher is told.
type Notice struct {
	Record

	// Reset says that records after WatchRequest.After are missing, so whoever
	// keeps a picture must make it anew. It is the first notice of its watch,
	// and its Seq is the one to go on from; the rest of the Record is empty.
	Reset bool
}

// KindRefused is told to watchers when a request was refused. It has no Seq and
// is never part of the history.
const KindRefused Kind = "refused"

// Validate checks the request against the limits.
func (r WatchRequest) Validate() error { return checkFilters("", r.Prefix, r.Holder) }
