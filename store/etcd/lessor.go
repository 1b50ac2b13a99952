package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
)

const (
	// maxSeconds is the longest etcd lease that is ever granted.
	maxSeconds = int64(leasehold.MaxTTL/time.Second) + 1

	// maxFree is how many etcd leases are kept for the next grant.
	maxFree = 64
)

// wholeSeconds is the ttl as etcd knows it: never shorter.
func wholeSeconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }

// lessor keeps etcd leases apart from what they are bound to.
//
// An etcd lease outlives the release of the one that it was granted for, and the
// next grant of the same length gets it: that saves etcd two writes. What is not
// used again is revoked, or runs out.
type lessor struct {
	client  *clientv3.Client
	streams streams

	mu     sync.Mutex
	free   []freeLease // the one used last is the last
	closed bool

	revoking sync.WaitGroup
}

type freeLease struct {
	id      clientv3.LeaseID
	seconds int64
	until   time.Time // it has run out by then
}

// bound is the etcd lease that a key is to be bound to.
type bound struct {
	id      clientv3.LeaseID
	seconds int64

	// term is etcd's when it said that the lease goes on. A leader that was
	// replaced without knowing it can say so as well, so a write has to confirm
	// it. Zero: the lease is new, which is a write itself.
	term uint64
}

// obtain returns an etcd lease that lasts that long from now on.
func (l *lessor) obtain(ctx context.Context, ttl time.Duration) (bound, error) {
	seconds := wholeSeconds(ttl)
	for {
		f, ok := l.pop(seconds)
		if !ok {
			break
		}
		b, err := l.restart(ctx, f.id, f.seconds)
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return b, err
		}
	}
	granted, err := l.client.Grant(ctx, seconds)
	if err != nil {
		return bound{}, err
	}
	return bound{id: granted.ID, seconds: seconds}, nil
}

// restart lets an etcd lease start again.
func (l *lessor) restart(ctx context.Context, id clientv3.LeaseID, seconds int64) (bound, error) {
	term, err := l.streams.keepAlive(ctx, id)
	if err != nil {
		return bound{}, err
	}
	return bound{id, seconds, term}, nil
}

// pop returns a free etcd lease that was granted for that long.
func (l *lessor) pop(seconds int64) (freeLease, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for i := len(l.free) - 1; i >= 0; i-- {
		if f := l.free[i]; f.seconds == seconds {
			l.free = append(l.free[:i], l.free[i+1:]...)
			return f, now.Before(f.until)
		}
	}
	return freeLease{}, false
}

// put returns an etcd lease to which nothing is bound for sure. It has been asked
// for a moment ago at the latest, so it lasts no longer than its seconds.
func (l *lessor) put(id clientv3.LeaseID, seconds int64) {
	if id == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return // it runs out
	}
	l.free = append(l.free, freeLease{id, seconds, time.Now().Add(time.Duration(seconds) * time.Second)})
	if len(l.free) > maxFree {
		oldest := l.free[0].id
		l.free = append(l.free[:0], l.free[1:]...)
		l.revoking.Go(func() { l.revoke(oldest) })
	}
}

// revokeFor is how long a lease is tried to be revoked: otherwise it runs out.
const revokeFor = 2 * time.Second

func (l *lessor) revoke(id clientv3.LeaseID) {
	ctx, cancel := context.WithTimeout(context.Background(), revokeFor)
	defer cancel()
	_, _ = l.client.Revoke(ctx, id)
}

// close revokes what is free. The client is still open.
func (l *lessor) close() {
	l.mu.Lock()
	free := l.free
	l.free, l.closed = nil, true
	l.mu.Unlock()
	for _, f := range free {
		l.revoking.Go(func() { l.revoke(f.id) })
	}
	l.revoking.Wait()
	l.streams.close()
}
