package etcd

import (
	"context"
	"sync"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
)

// streams are open calls of LeaseKeepAlive. The client's KeepAliveOnce opens one for
// each lease, which costs more than the rest of it. One that serves many at a time
// would let them wait for each other, because etcd answers late about a lease that
// is just ending; so each serves one lease at a time.
type streams struct {
	client *clientv3.Client

	mu     sync.Mutex
	idle   []stream
	closed bool
}

type stream struct {
	etcdserverpb.Lease_LeaseKeepAliveClient
	end context.CancelFunc
}

// maxIdle is how many streams wait for the next lease.
const maxIdle = 64

// keepAlive lets an etcd lease start again, and returns the term of etcd's leader
// as the member that answered knows it.
func (s *streams) keepAlive(ctx context.Context, id clientv3.LeaseID) (term uint64, err error) {
	for {
		one, used, err := s.get()
		if err != nil {
			return 0, err
		}
		answer, err := one.exchange(ctx, id)
		if err != nil {
			one.end()
			if used && ctx.Err() == nil {
				continue // its connection may be gone since
			}
			if ctx.Err() != nil {
				err = context.Cause(ctx)
				s.endIdle() // they may be at the same member, which does not answer
			}
			return 0, err
		}
		s.put(one)
		if answer.TTL <= 0 {
			return 0, rpctypes.ErrLeaseNotFound
		}
		return answer.Header.RaftTerm, nil
	}
}

// exchange asks about one lease. The stream is of no use after an error.
func (s stream) exchange(ctx context.Context, id clientv3.LeaseID) (*etcdserverpb.LeaseKeepAliveResponse, error) {
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	if err := s.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
		return nil, err
	}
	answer, err := s.Recv()
	if err == nil && !stop() {
		err = context.Cause(ctx)
	}
	return answer, err
}

// get returns a stream, and whether it was used before.
func (s *streams) get() (one stream, used bool, err error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		one, s.idle = s.idle[n-1], s.idle[:n-1]
		s.mu.Unlock()
		return one, true, nil
	}
	s.mu.Unlock()
	ctx, end := context.WithCancel(clientv3.WithRequireLeader(s.client.Ctx()))
	opened, err := etcdserverpb.NewLeaseClient(s.client.ActiveConnection()).LeaseKeepAlive(ctx)
	if err != nil {
		end()
		return stream{}, false, err
	}
	return stream{opened, end}, false, nil
}

func (s *streams) put(one stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.idle) >= maxIdle {
		one.end()
		return
	}
	s.idle = append(s.idle, one)
}

func (s *streams) endIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.idle {
		one.end()
	}
	s.idle = nil
}

// close ends what is idle. What is in use ends when it is put back.
func (s *streams) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.endIdle()
}
