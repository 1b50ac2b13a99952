package leasehold

import (
	"context"
	"sync"
)

// Watcher is a store that tells of what happens as it happens.
type Watcher interface {
	// Watch calls each for every record that matches, in commit order and only
	// once it is durable, until its context ends or each returns an error, which
	// Watch returns. A slow watcher never blocks anybody: one that falls too far
	// behind is told Reset instead of what it missed, or cut off with
	// ErrUnavailable.
	Watch(ctx context.Context, r WatchRequest, each func(Notice) error) error
}

// BatchWatcher is a Watcher for servers with many watchers: it tells several
// notices at a time, and all watchers share them.
type BatchWatcher interface {
	// WatchBatches is Watch, but calls each with one or more notices. The slice
	// is valid until each returns; the notices must not be changed.
	WatchBatches(ctx context.Context, r WatchRequest, each func([]*SharedNotice) error) error
}

// SharedNotice is a notice that many watchers are told.
type SharedNotice struct {
	Notice
	once    sync.Once
	encoded []byte
}

// Encode returns what encode makes of the notice. It is called once, however
// many watchers ask, so all of them must pass the same function.
func (n *SharedNotice) Encode(encode func(Notice) []byte) []byte {
	n.once.Do(func() { n.encoded = encode(n.Notice) })
	return n.encoded
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

	// Reset says that records are missing up to this Seq, so whoever keeps a
	// picture must make it anew. It is the first notice of a watch whose After
	// is too old, and comes later if the watcher falls too far behind. The rest
	// of the Record is empty.
	Reset bool
}

// KindRefused is told to watchers when a request was refused. It has no Seq and
// is never part of the history.
const KindRefused Kind = "refused"

// Validate checks the request against the limits.
func (r WatchRequest) Validate() error { return checkFilters("", r.Prefix, r.Holder) }
