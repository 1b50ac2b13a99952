package etcd

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
)

func newMark() string { return rand.Text()[:16] }

// doubts are the writes whose answers were lost, by their marks. Each is asked for
// soon or never, so only the latest are kept.
type doubts struct {
	mu     sync.Mutex
	writes map[string]doubtful
}

type doubtful struct {
	resource string
	creates  bool   // its key, which was not there
	recorded bool   // it wrote a record, by which it can be found
	after    uint64 // the number of its record is larger
	to       bound
}

const maxDoubts = 1000

func (d *doubts) note(t *transaction) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writes == nil || len(d.writes) >= maxDoubts {
		d.writes = map[string]doubtful{}
	}
	w := t.write
	d.writes[w.Marks[0]] = doubtful{
		resource: w.Row.Resource, creates: t.was.revision == 0,
		recorded: t.recorded > 0 && w.Records[0].Kept, after: t.after, to: t.to,
	}
}

// pop returns what is known of a write, once.
func (d *doubts) pop(mark string) (doubtful, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	write, ok := d.writes[mark]
	delete(d.writes, mark)
	if !ok {
		return write, unknown(errNoTrace)
	}
	return write, nil
}

var errNoTrace = errors.New("etcd: the answer was lost, and nothing shows what happened")

// Resolve implements cas.Resolver. What was written leaves a record with the mark.
//
// A write that needed a key can no longer happen, because the key is another one by
// now. One that creates it may still be under way, and is shut out first.
func (b *backend) Resolve(ctx context.Context, mark string) (token uint64, happened bool, err error) {
	write, err := b.doubts.pop(mark)
	if err != nil {
		return 0, false, err
	}
	if write.creates {
		if token, happened, err = b.shutOut(ctx, write.resource, mark); err != nil {
			return 0, false, unknown(err)
		}
	}
	if happened {
		return token, true, unknown(b.confirmDoubtful(ctx, write))
	}
	if !write.recorded {
		return 0, false, unknown(errNoTrace)
	}
	token, happened, err = b.findMark(ctx, mark, write.after)
	if happened && write.to.term != 0 {
		err = errNoTrace // of whether it lasts as long as was said
	}
	return token, happened, unknown(err)
}

// Confirm implements cas.Resolver.
func (b *backend) Confirm(ctx context.Context, mark string) error {
	write, err := b.doubts.pop(mark)
	if err != nil {
		return err
	}
	return b.confirmDoubtful(ctx, write)
}

// confirmDoubtful makes sure that a lease lasts as long as etcd said before the write.
func (b *backend) confirmDoubtful(ctx context.Context, write doubtful) error {
	if write.to.term == 0 {
		return nil
	}
	return b.confirm(ctx, write.resource, write.to)
}

func unknown(err error) error {
	if err == nil {
		return nil
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: err}
}

// voidSeconds is how long a write is shut out: far longer than any is under way.
const voidSeconds = 600

// shutOut makes a write that creates a key impossible, unless it has happened and
// its key is there.
func (b *backend) shutOut(ctx context.Context, resource, mark string) (token uint64, happened bool, err error) {
	var lease *clientv3.LeaseGrantResponse
	err = b.call(ctx, reading, func(ctx context.Context) (err error) {
		lease, err = b.client.Grant(ctx, voidSeconds)
		return err
	})
	if err != nil {
		return 0, false, err
	}
	answer, err := b.commit(ctx, reading, nil, []clientv3.Op{
		clientv3.OpPut(b.keys.void(mark), "", clientv3.WithLease(lease.ID)),
		clientv3.OpGet(b.keys.lease(resource)),
	})
	if err != nil {
		return 0, false, err
	}
	kvs := answer.Responses[1].GetResponseRange().Kvs
	if len(kvs) == 0 {
		return 0, false, nil
	}
	item, err := decodeItem(kvs[0], resource, b.store.Load().Base, b.now())
	if err != nil || !slices.Contains(item.Marks, mark) {
		return 0, false, err
	}
	if item.Marks[0] != mark { // the lease may have been handed over since
		return 0, false, nil // its record has the token
	}
	return item.Row.Token, true, nil
}

// recent is how many records are looked at for one.
const recent = 50_000

// findMark looks for the record with a mark and a number after another.
func (b *backend) findMark(ctx context.Context, mark string, after uint64) (token uint64, happened bool, err error) {
	n, err := b.bounds(ctx)
	if err != nil {
		return 0, false, err
	}
	from := max(n.oldest, after+1, n.below-min(n.below, recent))
	for at := from; at < n.below; at += purgedAtOnce {
		kvs, err := b.numberedBetween(ctx, at, min(at+purgedAtOnce, n.below), 0)
		if err != nil {
			return 0, false, err
		}
		for _, kv := range kvs {
			if r, err := decodeRecord(kv); err == nil && r.Mark == mark {
				return r.Token, true, nil
			}
		}
	}
	if from > after+1 {
		return 0, false, errNoTrace // it may be among those that are gone or too many
	}
	return 0, false, nil
}
