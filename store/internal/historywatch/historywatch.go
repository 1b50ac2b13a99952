// Package historywatch makes watches out of a history that can be read: for
// stores whose records other processes write too. One reader per process asks for
// news, and only while somebody watches.
package historywatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/feeds"
)

const (
	defaultLook = time.Second
	pageSize    = 1000
	// The reader rests after each round, as a multiple of the time it took, but
	// no longer than maxRest: while writes come without end it reads larger pages
	// and not more of them.
	restFactor = 4
	maxRest    = 20 * time.Millisecond
	// maxRefusals are waiting to be passed on at most; more are dropped, as no
	// copy of the leases depends on them.
	maxRefusals = 4096
)

// Options says how the history is read.
type Options struct {
	Store string // names the store in errors

	// Last returns the Seq of the newest record that a reader may see: none up to
	// it appears later, and a later call returns no less. Zero: there never was one.
	Last func(ctx context.Context) (uint64, error)

	// After returns up to n records with a larger Seq, ascending, none missing
	// between them, and the Seq of the oldest record kept. Zero: none is.
	After func(ctx context.Context, seq uint64, n int) (records []leasehold.Record, oldest uint64, err error)

	// Look is how often the reader looks though nothing woke it, give or take a
	// fifth. Default: a second.
	Look time.Duration
}

// Watches is the watches of one store.
type Watches struct {
	o        Options
	watching atomic.Int64

	mu       sync.Mutex
	feeds    feeds.Set
	reader   *reader // nil: nobody watches
	readers  sync.WaitGroup
	ended    bool
	closed   chan struct{}
	refusals []*leasehold.SharedNotice // not passed on yet
}

// New returns Watches. They do nothing until somebody watches.
func New(o Options) *Watches {
	if o.Look == 0 {
		o.Look = defaultLook
	}
	return &Watches{o: o, closed: make(chan struct{})}
}

// Close ends all watches and waits for the reader.
func (w *Watches) Close() {
	w.mu.Lock()
	if !w.ended {
		w.ended = true
		close(w.closed)
		w.stopReader()
	}
	w.mu.Unlock()
	w.readers.Wait()
}

// Wake says that there may be news: because this process wrote, or the service
// says so. It costs nothing while nobody watches.
func (w *Watches) Wake() {
	if w.watching.Load() == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wakeReader()
}

// wakeReader wakes the reader if there is one. mu is held.
func (w *Watches) wakeReader() {
	if w.reader == nil {
		return
	}
	select {
	case w.reader.wake <- struct{}{}:
	default:
	}
}

// Refused passes a refusal on to the watchers of this process. It has no Seq, and
// costs nothing while nobody watches.
func (w *Watches) Refused(r leasehold.Record) {
	if w.watching.Load() == 0 {
		return
	}
	n := &leasehold.SharedNotice{Notice: leasehold.Notice{Record: r}}
	n.Kind, n.Seq = leasehold.KindRefused, 0
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refusals) < maxRefusals {
		w.refusals = append(w.refusals, n)
		w.wakeReader()
	}
}

// Watch implements leasehold.Watcher.
func (w *Watches) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	return w.WatchBatches(ctx, r, feeds.Single(each))
}

// WatchBatches implements leasehold.BatchWatcher.
func (w *Watches) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if err := r.Validate(); err != nil {
		return w.opError(err)
	}
	last, err := w.o.Last(ctx)
	if err != nil {
		return w.opError(err)
	}
	s, err := w.subscribe(r, last)
	if err != nil {
		return w.opError(err)
	}
	defer w.unsubscribe(s)
	if err := s.catchUp(ctx, each); err != nil {
		return err
	}
	return s.watcher.Run(ctx, w.o.Store, w.closed, nil, s.news(each))
}

var errClosed = errors.New("the store is closed")

// opError names the operation and the store.
func (w *Watches) opError(err error) error {
	full := leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: err}
	if x, ok := err.(*leasehold.Error); ok {
		full = *x
	}
	full.Op, full.Store = "watch", w.o.Store
	return &full
}

// subscribe adds a watcher, and starts the reader for the first.
func (w *Watches) subscribe(r leasehold.WatchRequest, last uint64) (*subscription, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil, errClosed
	}
	if w.watching.Add(1) == 1 {
		w.startReader(last)
	}
	s := &subscription{watches: w, watcher: w.feeds.Subscribe(r), start: r.After, joined: w.reader.at}
	switch {
	case r.After == 0:
		s.start = last // only what happens from now on
	case r.After > last:
		s.start, s.reset = last, true
	}
	return s, nil
}

func (w *Watches) unsubscribe(s *subscription) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.feeds.Unsubscribe(s.watcher)
	if w.watching.Add(-1) == 0 {
		w.stopReader()
		w.refusals = nil
	}
}

// jittered returns d, give or take a fifth.
func jittered(d time.Duration) time.Duration {
	return d*4/5 + rand.N(d*2/5+1)
}
