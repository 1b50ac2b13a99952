package azblob

import (
	"context"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/waitqueue"
)

const storeName = "azblob"

// The service's limits of a ttl.
const (
	minTTL = 15 * time.Second
	maxTTL = 60 * time.Second
)

// Store keeps leases in Azure Blob Storage. See the package comment.
type Store struct {
	opts    Options
	service *service
	queues  *waitqueue.Queues
	locks   locks
	known   cache
	idle    func() // closes connections that are the store's own

	mu         sync.Mutex
	closed     bool
	background sync.WaitGroup
}

var _ interface {
	leasehold.Store
	leasehold.Waiter
	leasehold.Breaker
	leasehold.Changer
	leasehold.Lister
	leasehold.Cleaner
} = (*Store)(nil)

func newStore(client *container.Client, o Options, idle func()) *Store {
	s := &Store{opts: o, idle: idle, service: &service{
		client: client, container: o.Container, prefix: o.Prefix, create: !o.NoCreate, clock: &serviceClock{},
	}}
	s.queues = waitqueue.New(waitqueue.Options{Store: storeName, Try: s.acquire, Repeat: s.repeat, Release: s.release})
	return s
}

// Close ends all waits and everything under way in the background. A client that
// was handed in stays open.
func (s *Store) Close() error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	s.queues.Close()
	s.background.Wait()
	if first && s.idle != nil {
		s.idle()
	}
	return nil
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// usable is the error of a call that cannot be made at all.
func (s *Store) usable(ctx context.Context) error {
	switch {
	case s.isClosed():
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errClosed}
	case ctx.Err() != nil:
		return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: context.Cause(ctx)}
	}
	return nil
}

// limited is the context of one operation.
func (s *Store) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, s.opts.Timeout, errTimeout(s.opts.Timeout))
}

// inBackground runs f with a context that outlives the caller's. Close waits for
// it.
func (s *Store) inBackground(ctx context.Context, f func(context.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return // the lease ends by itself
	}
	ctx, cancel := s.limited(context.WithoutCancel(ctx))
	s.background.Go(func() {
		defer cancel()
		f(ctx)
	})
}

func (s *Store) probe(ctx context.Context) error {
	ctx, cancel := s.limited(ctx)
	defer cancel()
	if f := s.service.probe(ctx); f != nil {
		return storeError("open", "", nothingDone(f))
	}
	return nil
}

// Status describes one resource.
func (s *Store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	st, err := s.status(ctx, resource)
	return st, storeError("status", resource, err)
}

func (s *Store) status(ctx context.Context, resource string) (leasehold.Status, error) {
	st := leasehold.Status{Resource: resource}
	if err := first(leasehold.CheckResource(resource), s.usable(ctx)); err != nil {
		return st, err
	}
	if len(resource) > MaxResource {
		return st, nil // nobody can have leased it
	}
	ctx, cancel := s.limited(ctx)
	defer cancel()
	v, f := s.service.load(ctx, resource, leasehold.ID{})
	if f != nil {
		return st, f
	}
	if v.locked() {
		l := s.shownLease(ctx, &v)
		st.Lease = &l
	}
	return st, nil
}

// Cleanup has nothing to do: nothing that has ended is kept.
func (s *Store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	return leasehold.Cleaned{}, storeError("cleanup", "", s.usable(ctx))
}

// checkTTL refuses what the service cannot do. Zero is left to the default.
func checkTTL(ttl time.Duration) error {
	if ttl == 0 || ttl == leasehold.Infinite || ttl >= minTTL && ttl <= maxTTL {
		return nil
	}
	return leasehold.Invalid("ttl_seconds", "is %v; want %v to %v, or -1 for no end: the service has no others",
		ttl.Seconds(), minTTL.Seconds(), maxTTL.Seconds())
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
