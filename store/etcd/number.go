package etcd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/cas"
)

const (
	// numberedAtOnce is how many records a transaction moves: each takes a condition
	// and two operations, of 128 that etcd allows.
	numberedAtOnce = 50

	// numberAfter is how long records of this process wait for others to be moved
	// with them.
	numberAfter = 500 * time.Millisecond
)

func (b *backend) wakeNumberer() {
	select {
	case b.records <- struct{}{}:
	default:
	}
}

// numberLoop gives the records of this process their numbers. What it does not get
// to is left to the next reader.
func (b *backend) numberLoop(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.records:
		}
		if !sleep.For(ctx, numberAfter) {
			return
		}
		limited, cancel := context.WithTimeout(ctx, b.limit)
		_, _ = b.number(limited)
		cancel()
	}
}

// number gives every record its number that was there when it was called, and
// returns the number of the last.
func (b *backend) number(ctx context.Context) (last uint64, err error) {
	select {
	case b.numbering <- struct{}{}:
		defer func() { <-b.numbering }()
	case <-ctx.Done():
		return 0, unavailable(context.Cause(ctx))
	}
	for {
		c, batch, err := b.unnumbered(ctx)
		for err == nil && len(batch) > 0 {
			n := min(len(batch), numberedAtOnce)
			c, err = b.numberBatch(ctx, c, batch[:n])
			batch = batch[n:]
		}
		if err == nil {
			b.last.Store(c.last)
		}
		if !errors.Is(err, cas.ErrRaced) { // somebody else was faster
			return c.last, err
		}
	}
}

// counter is the key that keeps the last number.
type counter struct {
	last     uint64
	revision int64
	store    int64 // revision of the store's key
}

// unnumbered returns all records without a number, oldest first. Any that comes later
// has a later revision.
func (b *backend) unnumbered(ctx context.Context) (c counter, batch []*mvccpb.KeyValue, err error) {
	answer, err := b.commit(ctx, reading, nil, []clientv3.Op{
		clientv3.OpGet(b.keys.counter()),
		clientv3.OpGet(b.keys.pending(), under(b.keys.pending())),
		b.getConfig(),
	})
	if err != nil {
		return c, nil, err
	}
	state, _, err := b.configured(answer.Responses[2].GetResponseRange().Kvs)
	if err == nil {
		err = state.refuse(reading) // while leases are leaving, readers still need the numbers
	}
	if err != nil {
		return c, nil, err
	}
	if c, err = decodeCounter(answer.Responses[0].GetResponseRange().Kvs); err != nil {
		return c, nil, err
	}
	c.store = state.revision
	batch = answer.Responses[1].GetResponseRange().Kvs
	slices.SortFunc(batch, func(x, y *mvccpb.KeyValue) int { return cmp.Compare(x.CreateRevision, y.CreateRevision) })
	return c, batch, nil
}

// decodeCounter reads the counter's key, if it is there.
func decodeCounter(kvs []*mvccpb.KeyValue) (c counter, err error) {
	if len(kvs) == 0 {
		return c, nil
	}
	last, err := strconv.ParseUint(string(kvs[0].Value), 10, 64)
	if err != nil {
		return c, unavailable(errForeign)
	}
	return counter{last: last, revision: kvs[0].ModRevision}, nil
}

// numberBatch moves records to the next numbers, if nobody else has given one.
func (b *backend) numberBatch(ctx context.Context, c counter, batch []*mvccpb.KeyValue) (counter, error) {
	var ops []clientv3.Op
	next := c.last
	for _, kv := range batch {
		r, err := decodeRecord(kv)
		if err != nil {
			return c, unavailable(err)
		}
		next++
		ops = append(ops, clientv3.OpDelete(string(kv.Key)))
		if r.Unkept {
			continue
		}
		text, _ := json.Marshal(r)
		ops = append(ops, clientv3.OpPut(b.keys.numbered(next), string(text)))
	}
	ops = append(ops, clientv3.OpPut(b.keys.counter(), strconv.FormatUint(next, 10)))
	answer, err := b.commit(ctx, writing, []clientv3.Cmp{unchanged(b.keys.counter(), c.revision), unchanged(b.keys.store(), c.store)}, ops)
	if err != nil {
		return c, err
	}
	return counter{next, answer.Header.Revision, c.store}, nil
}
