package sqltx

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/store/internal/calls"
	"github.com/leasehold/leasehold/store/internal/failures"
	"github.com/leasehold/leasehold/store/internal/historywatch"
	"github.com/leasehold/leasehold/store/internal/known"
	"github.com/leasehold/leasehold/store/internal/waitqueue"
)

// Options are the store's. Nil and zero values are the defaults.
type Options struct {
	// Limit is how long an operation may take with all its retries. Default 5 s.
	Limit time.Duration

	// Logger logs what fails in the background. Default: none.
	Logger *slog.Logger
}

// Store is a leasehold.Store on a DB.
type Store struct {
	db      DB
	swapper Swapper // nil: every operation is a Step
	traits  Traits
	limit   time.Duration
	log     *slog.Logger

	queues  *waitqueue.Queues
	watches *historywatch.Watches
	known   known.Writes[inHand]
	control control
	room    room
	ends    ends

	failures failures.Store
	calls    *calls.Calls
	listen   sync.Once // starts the notifications when somebody waits
}

// The powers of a Store.
var (
	_ leasehold.Store          = (*Store)(nil)
	_ leasehold.Waiter         = (*Store)(nil)
	_ leasehold.Breaker        = (*Store)(nil)
	_ leasehold.Changer        = (*Store)(nil)
	_ leasehold.Transferer     = (*Store)(nil)
	_ leasehold.Finder         = (*Store)(nil)
	_ leasehold.Lister         = (*Store)(nil)
	_ leasehold.HolderReleaser = (*Store)(nil)
	_ leasehold.Historian      = (*Store)(nil)
	_ leasehold.Cleaner        = (*Store)(nil)
	_ leasehold.Configurer     = (*Store)(nil)
	_ leasehold.Watcher        = (*Store)(nil)
	_ leasehold.BatchWatcher   = (*Store)(nil)
	_ move.Store               = (*Store)(nil)
)

// New returns a store on db, which the store's Close closes.
func New(db DB, o *Options) *Store {
	if o == nil {
		o = &Options{}
	}
	s := &Store{db: db, traits: db.Traits(), limit: o.Limit, log: o.Logger}
	s.failures = failures.Store(s.traits.Kind)
	s.calls = calls.New(s.failures)
	s.swapper, _ = db.(Swapper)
	if s.limit == 0 {
		s.limit = 5 * time.Second
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.queues = waitqueue.New(waitqueue.Options{
		Store: s.traits.Kind, Try: s.tryFirst, Repeat: s.tryRepeat, Release: s.Release, Failed: s.recordFailure,
	})
	s.watches = historywatch.New(historywatch.Options{Store: s.traits.Kind, Last: db.Last, After: db.After})
	s.ends.start()
	s.calls.Go(s.sweepLoop)
	s.calls.Go(s.expireLoop)
	return s
}

// Close implements leasehold.Store. It waits for operations under way.
func (s *Store) Close() error {
	s.queues.Close() // may still release
	first := s.calls.Close()
	s.watches.Close()
	s.calls.Wait()
	if !first {
		return nil
	}
	return s.db.Close()
}

// followNotices wakes waiters when others free what they wait for. It starts with
// the first waiter.
func (s *Store) followNotices() {
	n, ok := s.db.(Notifier)
	if !ok {
		return
	}
	s.listen.Do(func() {
		s.calls.Repeat(func(ctx context.Context) {
			if err := n.Notify(ctx, s.queues.WakeAll, s.queues.Wake); err != nil && ctx.Err() == nil {
				s.log.Warn("leasehold: no notices of other servers; waiters look by themselves", "store", s.traits.Kind, "error", err)
			}
		})
	})
}
