package redis

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/sweeper"
	"github.com/leasehold/leasehold/store/internal/waitqueue"
	"github.com/redis/go-redis/v9"
)

// Store keeps leases in Redis. Besides leasehold.Store it is a Waiter, Breaker,
// Changer, Transferer, Finder, Lister, Historian, Cleaner and Configurer.
type Store struct {
	client redis.UniversalClient
	owned  bool // Close closes the client
	opts   Options
	keys   keyspace

	together  bool // a script may use all keys
	recording bool // the history is kept

	indexKeys []any // strings, as the client wants them; see begin.lua
	prefix    any

	queues     *waitqueue.Queues
	subscriber subscriber
	sweeper    *sweeper.Sweeper

	lifetime context.Context // ends with Close
	end      context.CancelFunc
	startMu  sync.RWMutex // nothing starts once Close waits
	running  sync.WaitGroup

	slowUntil atomic.Int64 // Unix nanoseconds; see await
	closing   sync.Once
}

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
	_ leasehold.Configurer = (*Store)(nil)
)

// New returns a store on a client, which stays its owner's: Close does not close
// it. It calls nothing yet.
func New(client redis.UniversalClient, o *Options) (*Store, error) {
	full := o.orDefaults()
	if full.connects() {
		return nil, invalid("client", "has its own connection; leave Addrs, DB, credentials and TLS out, or use Open")
	}
	if err := full.validate(); err != nil {
		return nil, err
	}
	switch client.(type) {
	case nil:
		return nil, invalid("client", "is missing")
	case *redis.Ring:
		return nil, invalid("client", "is a Ring, which spreads keys over servers that know nothing of each other; use one server or a Cluster")
	}
	return newStore(client, full, false), nil
}

func newStore(client redis.UniversalClient, o Options, owned bool) *Store {
	s := &Store{client: client, owned: owned, opts: o, keys: newKeyspace(o.KeyPrefix)}
	s.lifetime, s.end = context.WithCancel(context.Background())
	_, cluster := client.(*redis.ClusterClient)
	s.together = !cluster || s.keys.tagged
	s.recording = s.together && !o.NoHistory
	s.prefix = s.keys.prefix
	for _, key := range s.sharedKeys() {
		s.indexKeys = append(s.indexKeys, key)
	}
	s.queues = waitqueue.New(waitqueue.Options{Store: kind, Try: s.tryWaiting, Repeat: s.tryRepeating, Release: s.Release, Failed: s.waitFailed})
	s.sweeper = sweeper.New()
	s.start(func(ctx context.Context) { s.sweeper.Run(ctx, s.sweepOnce) })
	return s
}

var errClosed = errors.New("the store is closed")

// Close ends what runs in the background and closes a client that Open made.
// Waiters get ErrUnavailable.
func (s *Store) Close() error {
	var err error
	s.closing.Do(func() {
		s.queues.Close() // first: it may still release
		s.startMu.Lock()
		s.end()
		s.startMu.Unlock()
		s.running.Wait()
		if s.owned {
			err = s.client.Close()
		}
	})
	return err
}

// start runs f in a goroutine that Close waits for, unless the store is closed.
func (s *Store) start(f func(ctx context.Context)) bool {
	if !s.enter() {
		return false
	}
	go func() {
		defer s.running.Done()
		f(s.lifetime)
	}()
	return true
}

// enter makes Close wait until running.Done is called, unless the store is closed.
func (s *Store) enter() bool {
	s.startMu.RLock()
	defer s.startMu.RUnlock()
	if s.lifetime.Err() != nil {
		return false
	}
	s.running.Add(1)
	return true
}
