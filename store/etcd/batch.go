package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// batches commits transactions of this process that come at the same time as one:
// each with its own conditions, one for all to write to etcd's log. Where nothing
// is under way, a transaction is sent at once.
type batches struct {
	backend *backend

	mu      sync.Mutex
	waiting []*transaction
	running int
	senders sync.WaitGroup
}

const (
	maxBatch = 32

	// maxRunning is how many batches are under way: more of them are smaller.
	maxRunning = 2

	// maxWait is how long a transaction waits for those under way: they may be at a
	// member that does not answer.
	maxWait = 50 * time.Millisecond
)

// committed is the answer to one transaction of a batch.
type committed struct {
	revision int64
	term     uint64
	err      error
}

// commit commits a transaction. One whose conditions do not hold is ErrRaced.
func (q *batches) commit(ctx context.Context, t *transaction) committed {
	t.done = make(chan committed, 1)
	q.mu.Lock()
	q.waiting = append(q.waiting, t)
	q.sendUnless(q.running >= maxRunning)
	q.mu.Unlock()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for {
		select {
		case c := <-t.done:
			return c
		case <-timer.C:
			q.mu.Lock()
			q.sendUnless(len(q.waiting) == 0)
			q.mu.Unlock()
		case <-ctx.Done():
			return committed{err: q.cancel(ctx, t)}
		}
	}
}

// sendUnless starts to send what waits. The lock is held.
func (q *batches) sendUnless(not bool) {
	if not {
		return
	}
	q.running++
	q.senders.Go(q.send)
}

// cancel is the error of a caller that waits no longer. What was sent may happen.
func (q *batches) cancel(ctx context.Context, t *transaction) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, other := range q.waiting {
		if other == t {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			return unavailable(context.Cause(ctx))
		}
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: context.Cause(ctx)}
}

// send sends batches until nothing waits.
func (q *batches) send() {
	for {
		batch := q.next()
		if batch == nil {
			return
		}
		ctx, cancel := q.backend.share(context.Background())
		for i, c := range q.backend.commitBatch(ctx, batch) {
			batch[i].done <- c
		}
		cancel()
	}
}

// next returns the transactions that have waited longest and have no key in common:
// etcd writes a key once in a transaction. None: there are none.
func (q *batches) next() []*transaction {
	q.mu.Lock()
	defer q.mu.Unlock()
	var batch, rest []*transaction
	written := map[string]bool{}
	for _, t := range q.waiting {
		if len(batch) == maxBatch || t.writes(written) {
			rest = append(rest, t)
			continue
		}
		for _, op := range t.ops {
			written[string(op.KeyBytes())] = true
		}
		batch = append(batch, t)
	}
	if q.waiting = rest; batch == nil {
		q.running--
	}
	return batch
}

// writes reports whether the transaction writes one of these keys.
func (t *transaction) writes(keys map[string]bool) bool {
	for _, op := range t.ops {
		if keys[string(op.KeyBytes())] {
			return true
		}
	}
	return false
}

// commitBatch commits transactions as one.
func (b *backend) commitBatch(ctx context.Context, batch []*transaction) []committed {
	if len(batch) == 1 {
		answer, err := b.commit(ctx, writing, batch[0].conditions, batch[0].ops)
		return []committed{of(answer, err)}
	}
	ops := make([]clientv3.Op, len(batch))
	for i, t := range batch {
		ops[i] = clientv3.OpTxn(t.conditions, t.ops, nil)
	}
	answer, err := b.commit(ctx, writing, nil, ops)
	all := make([]committed, len(batch))
	for i, t := range batch {
		switch {
		case err != nil && refusesOne(err):
			all[i] = of(b.commit(ctx, writing, t.conditions, t.ops))
		case err == nil && !answer.Responses[i].GetResponseTxn().Succeeded:
			all[i] = committed{err: cas.ErrRaced}
		default:
			all[i] = of(answer, err)
		}
	}
	return all
}

// refusesOne reports whether etcd refuses a batch for what is in it: an etcd lease
// that is gone, or too much for one request. Nothing is written then.
func refusesOne(err error) bool {
	return errors.Is(err, rpctypes.ErrLeaseNotFound) || errors.Is(err, rpctypes.ErrRequestTooLarge) || errors.Is(err, rpctypes.ErrTooManyOps)
}

func of(answer *clientv3.TxnResponse, err error) committed {
	if err != nil {
		return committed{err: err}
	}
	return committed{answer.Header.Revision, answer.Header.RaftTerm, nil}
}
