package etcd

import (
	"context"
	"fmt"
	"hash/crc32"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
)

// numbers are the bounds of what can be read.
type numbers struct {
	oldest uint64 // of the records kept; zero: none
	below  uint64 // all records that there were are below it
}

// bounds numbers the records that there are: whoever reads up to there misses none.
func (b *backend) bounds(ctx context.Context) (numbers, error) {
	last, err := b.number(ctx)
	if err != nil {
		return numbers{}, err
	}
	answer, err := b.commit(ctx, reading, nil, []clientv3.Op{
		clientv3.OpGet(b.keys.history(), under(b.keys.history()), clientv3.WithLimit(1), clientv3.WithKeysOnly()),
	})
	if err != nil {
		return numbers{}, err
	}
	n := numbers{below: last + 1}
	if kvs := answer.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
		n.oldest = b.keys.isNumbered(kvs[0].Key)
	}
	return n, nil
}

// between reads the records with these numbers, ascending.
func (b *backend) between(ctx context.Context, from, below uint64, limit int) ([]leasehold.Record, error) {
	if from >= below {
		return nil, nil
	}
	kvs, err := b.numberedBetween(ctx, from, below, limit)
	if err != nil {
		return nil, err
	}
	return b.decodeRecords(kvs)
}

// numberedBetween reads the keys of records.
func (b *backend) numberedBetween(ctx context.Context, from, below uint64, limit int) ([]*mvccpb.KeyValue, error) {
	var found *clientv3.GetResponse
	err := b.call(ctx, reading, func(ctx context.Context) (err error) {
		found, err = b.client.Get(ctx, b.keys.numbered(from), clientv3.WithRange(b.keys.numbered(below)), clientv3.WithLimit(int64(limit)))
		return err
	})
	if err != nil {
		return nil, err
	}
	return found.Kvs, nil
}

func (b *backend) decodeRecords(kvs []*mvccpb.KeyValue) ([]leasehold.Record, error) {
	records := make([]leasehold.Record, 0, len(kvs))
	for _, kv := range kvs {
		r, err := decodeRecord(kv)
		seq := b.keys.isNumbered(kv.Key)
		if err != nil || seq == 0 {
			return nil, unavailable(errForeign)
		}
		records = append(records, r.public(seq))
	}
	return records, nil
}

// Last implements cas.Follower.
func (b *backend) Last(ctx context.Context) (uint64, error) {
	n, err := b.bounds(ctx)
	if err != nil {
		return 0, err
	}
	var last uint64
	err = b.descend(ctx, n, n.below, func(r leasehold.Record) bool {
		last = r.Seq
		return false
	})
	return last, err
}

// After implements cas.Follower.
func (b *backend) After(ctx context.Context, seq uint64, limit int) ([]leasehold.Record, uint64, error) {
	n, err := b.bounds(ctx)
	if err != nil {
		return nil, 0, err
	}
	records, err := b.between(ctx, seq+1, n.below, limit)
	return records, n.oldest, err
}

// window is how many numbers History reads at a time. etcd reads backwards only by
// reading all there is.
const window = 500

// descend calls each for the records below a number, newest first, until it says no.
func (b *backend) descend(ctx context.Context, n numbers, below uint64, each func(leasehold.Record) bool) error {
	for size := uint64(window); n.oldest != 0 && below > n.oldest; {
		from := max(n.oldest, below-min(below, size))
		records, err := b.between(ctx, from, below, 0)
		if err != nil {
			return err
		}
		for i := len(records) - 1; i >= 0; i-- {
			if !each(records[i]) {
				return nil
			}
		}
		if below = from; len(records) == 0 {
			size *= 2 // a time without history
		}
	}
	return nil
}

// History implements leasehold.Historian.
func (b *backend) History(ctx context.Context, r leasehold.HistoryRequest) (page leasehold.HistoryPage, err error) {
	below, err := parseCursor(r.Cursor)
	if err != nil {
		return page, err
	}
	n, err := b.bounds(ctx)
	if err != nil {
		return page, err
	}
	if below == 0 || below > n.below {
		below = n.below
	}
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	err = b.descend(ctx, n, below, func(one leasehold.Record) bool {
		if !matches(r, one) {
			return true
		}
		if len(page.Records) == r.Limit {
			page.Cursor = cursor(page.Records[r.Limit-1].Seq)
			return false
		}
		page.Records = append(page.Records, one)
		return true
	})
	return page, err
}

func matches(r leasehold.HistoryRequest, one leasehold.Record) bool {
	switch {
	case r.Resource != "" && one.Resource != r.Resource,
		!strings.HasPrefix(one.Resource, r.Prefix),
		r.Holder != "" && one.Holder != r.Holder,
		r.Kind != "" && one.Kind != r.Kind,
		!r.Since.IsZero() && one.At.Before(r.Since),
		!r.Until.IsZero() && !one.At.Before(r.Until):
		return false
	}
	return true
}

// cursor is the number below which the next page begins. The checksum tells it from
// garbage.
func cursor(seq uint64) string {
	return fmt.Sprintf("%x-%08x", seq, crc32.ChecksumIEEE(fmt.Appendf(nil, "history %d", seq)))
}

func parseCursor(text string) (seq uint64, err error) {
	if text == "" {
		return 0, nil
	}
	var sum uint32
	_, err = fmt.Sscanf(text, "%x-%08x", &seq, &sum)
	if err != nil || cursor(seq) != text {
		return 0, leasehold.Invalid("cursor", "is not one that this history gave out; start again without it")
	}
	return seq, nil
}
