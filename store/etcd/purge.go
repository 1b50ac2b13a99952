package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// purgedAtOnce is how many records a transaction deletes.
const purgedAtOnce = 5000

// Purge implements cas.Purger.
func (b *backend) Purge(ctx context.Context, before time.Time, keep int64) (int, error) {
	for total := 0; ; {
		n, err := b.purgeOnce(ctx, before, keep)
		if errors.Is(err, cas.ErrRaced) {
			return total, nil // another server does it
		}
		if total += n; err != nil || n < purgedAtOnce {
			return total, err
		}
	}
}

func (b *backend) purgeOnce(ctx context.Context, before time.Time, keep int64) (int, error) {
	if _, err := b.bounds(ctx); err != nil {
		return 0, err
	}
	oldest := clientv3.OpGet(b.keys.history(), under(b.keys.history()), clientv3.WithLimit(purgedAtOnce))
	answer, err := b.commit(ctx, reading, nil, []clientv3.Op{oldest})
	if err != nil {
		return 0, err
	}
	found := answer.Responses[0].GetResponseRange()
	records, err := b.decodeRecords(found.Kvs)
	if err != nil {
		return 0, err
	}
	n := due(records, before, found.Count-keep)
	if n == 0 {
		return 0, nil
	}
	through := records[n-1].Seq
	purged := cas.Purged(n, through)
	purged.At = b.now()
	same, err := b.open()
	if err != nil {
		return 0, err
	}
	_, err = b.commit(ctx, writing,
		[]clientv3.Cmp{unchanged(string(found.Kvs[0].Key), found.Kvs[0].ModRevision), same},
		append(b.recordAlone(cas.Record{Record: purged, Kept: true}),
			clientv3.OpDelete(b.keys.history(), clientv3.WithRange(b.keys.numbered(through+1)))))
	if err != nil {
		return 0, err
	}
	b.wakeNumberer()
	return n, nil
}

// due is how many of the oldest records go: those that are too old, and those that
// are too many. The record of a purge takes the place of one, so one too many stays,
// and so does the record of the last purge alone.
func due(records []leasehold.Record, before time.Time, tooMany int64) int {
	n := 0
	for n < len(records) && records[n].At.Before(before) {
		n++
	}
	if tooMany > 1 {
		n = max(n, int(min(tooMany, int64(len(records)))))
	}
	if n == 1 && records[0].Kind == leasehold.KindPurged {
		return 0
	}
	return n
}
