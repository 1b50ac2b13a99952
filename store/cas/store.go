// Package cas makes a leasehold.Store out of compare-and-swap: any service that
// keeps items with versions can keep leases. A service is a small Backend.
//
// Each operation loads the item of its resource, lets package machine decide on
// it, and writes the next row if the version still stands; if not, it starts
// again after a jittered pause. So the rules are those of every other store, and
// the service's atomic step is the only one that counts.
//
// What can go wrong between a client and a service, and what is done about it:
//
//   - Time. The service's time, as it stands in its own answers, decides; the
//     client's clock only paces retries. A service with a coarse clock says so
//     (Traits.Grain): grants are counted from the latest moment that its answer
//     allows and judged by the earliest, so a lease may end late by the grain
//     and never early.
//   - A renewal that lands after the end. The service's answer to the write has
//     its time: if that is past the old end, the row is marked as expired again
//     and the caller is told that the lease is lost.
//   - A lost answer. Every write puts a random mark into the item. The operation
//     loads the item again: if the mark is there it happened; if the version is
//     the old one it is written again under that version, which shuts the first
//     write out if it is still under way; nothing is ever written blindly. If it
//     cannot be found out in time, the answer is ErrUnknown.
//   - A caller who leaves. Operations under way go on without their caller, for
//     a few seconds at most. A grant that then nobody receives and whose id was
//     not proposed is released.
//
// What the store has just written counts as read for half a second, as if the
// write had taken that long: only the version decides whether it still stands.
// Refusals are always read.
//
// Ended leases are remembered for an hour, or until the next grant. Tokens are
// max(last + 1, the service's time in microseconds), so they grow even if the
// service forgets an item, as long as its clock does not step back.
//
// A lease is on one resource: claims and notes are refused as ErrUnsupported before any
// call, and AcquireRequest.Sequence is ignored.
package cas

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/calls"
	"github.com/leasehold/leasehold/store/internal/failures"
	"github.com/leasehold/leasehold/store/internal/known"
	"github.com/leasehold/leasehold/store/internal/sweeper"
	"github.com/leasehold/leasehold/store/internal/waitqueue"
)

// Options are the store's. Nil and zero values are the defaults.
type Options struct {
	// Limit is how long an operation may take with all its retries. Default 5 s.
	Limit time.Duration

	// TTL is the length of leases that are requested without one. Default 5 min.
	TTL time.Duration
}

// Store is a leasehold.Store on a Backend. It has every power that its backend
// allows and answers ErrUnsupported without: Find needs a Finder, History a
// Historian, Watch a Follower, Settings a Configurer, ReleaseHolder a HolderSwapper.
type Store struct {
	backend Backend
	traits  Traits
	limit   time.Duration
	ttl     time.Duration
	queues  *waitqueue.Queues
	ids     idLocks
	known   known.Writes[Item]

	failures failures.Store
	calls    *calls.Calls // and notifications

	config  Configurer // nil: the backend keeps no settings
	decoded atomic.Pointer[decoded]
	counted counted
	sweeper *sweeper.Sweeper
	watches watches
}

// The powers of a Store.
var (
	_ leasehold.Store      = (*Store)(nil)
	_ leasehold.Waiter     = (*Store)(nil)
	_ leasehold.Breaker    = (*Store)(nil)
	_ leasehold.Changer    = (*Store)(nil)
	_ leasehold.Transferer = (*Store)(nil)
	_ leasehold.Finder     = (*Store)(nil)
	_ leasehold.Lister     = (*Store)(nil)
	_ leasehold.Historian  = (*Store)(nil)
	_ leasehold.Cleaner    = (*Store)(nil)

	_ leasehold.Configurer     = (*Store)(nil)
	_ leasehold.HolderReleaser = (*Store)(nil)
	_ leasehold.Watcher        = (*Store)(nil)
	_ leasehold.BatchWatcher   = (*Store)(nil)
)

// New returns a store on b, which the store's Close closes.
func New(b Backend, o *Options) *Store {
	if o == nil {
		o = &Options{}
	}
	s := &Store{backend: b, traits: b.Traits(), limit: o.Limit, ttl: o.TTL}
	s.failures = failures.Store(s.traits.Kind)
	s.calls = calls.New(s.failures)
	if s.limit == 0 {
		s.limit = 5 * time.Second
	}
	if s.ttl == 0 {
		s.ttl = 5 * time.Minute
	}
	if s.traits.MinTTL == 0 {
		s.traits.MinTTL = leasehold.MinTTL
	}
	if s.traits.MaxTTL == 0 {
		s.traits.MaxTTL = leasehold.MaxTTL
	}
	s.queues = waitqueue.New(waitqueue.Options{
		Store: s.traits.Kind, Try: s.tryFirst, Repeat: s.tryRepeat, Release: s.release, Failed: s.recordFailure,
	})
	s.config, _ = b.(Configurer)
	s.sweeper = sweeper.New()
	s.sweeper.EndsIn(0) // of what ended while nobody looked
	s.startWatches()
	if _, ok := b.(Historian); ok && s.config != nil {
		s.calls.Go(func(ctx context.Context) { s.sweeper.Run(ctx, s.sweepOnce) })
	}
	if n, ok := b.(Notifier); ok { // wakes waiters when others free what they wait for
		s.calls.Repeat(func(ctx context.Context) {
			_ = n.Notify(ctx, s.queues.WakeAll, s.queues.Wake) // waiters look by themselves meanwhile
		})
	}
	return s
}

// Close implements leasehold.Store. It waits for operations under way.
func (s *Store) Close() error {
	s.queues.Close() // may still release
	s.watches.close()
	first := s.calls.Close()
	s.calls.Wait()
	if !first {
		return nil
	}
	return s.backend.Close()
}

// instant is the service's time as the rules know it.
func instant(now time.Time) machine.Instant {
	return machine.Instant{Clock: machine.Time(now.UnixNano()), Wall: now.UnixMilli()}
}
