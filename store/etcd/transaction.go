package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// commit commits a transaction. One whose conditions do not hold is ErrRaced.
func (b *backend) commit(ctx context.Context, how access, conditions []clientv3.Cmp, ops []clientv3.Op) (*clientv3.TxnResponse, error) {
	var answer *clientv3.TxnResponse
	err := b.call(ctx, how, func(ctx context.Context) (err error) {
		answer, err = b.client.Txn(ctx).If(conditions...).Then(ops...).Commit()
		return err
	})
	if err == nil && !answer.Succeeded {
		err = cas.ErrRaced
	}
	return answer, err
}

// Swap implements cas.Backend.
func (b *backend) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	was, state := decodeVersion(v), b.store.Load()
	if err := state.refuse(writing); err != nil {
		return cas.Item{}, err
	}
	var to bound
	err := b.call(ctx, reading, func(ctx context.Context) (err error) { // nothing is written yet
		to, err = b.bind(ctx, was, w)
		return err
	})
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return cas.Item{}, cas.ErrRaced // it has ended
	}
	if err != nil {
		return cas.Item{}, err
	}
	t := &transaction{backend: b, state: state, was: was, write: w, to: to, after: b.last.Load()}
	t.build()
	answer := b.batches.commit(ctx, t)
	if errors.Is(answer.err, rpctypes.ErrNoSpace) && !w.Row.State.Locked() {
		t.ops = t.ops[:len(t.ops)-t.recorded] // etcd then deletes, and writes no more
		answer = b.batches.commit(ctx, t)
	}
	switch err := answer.err; {
	case err == nil:
	case leasehold.ReasonOf(err) == leasehold.ReasonUnknown:
		b.doubts.note(t)
		return cas.Item{}, err
	default:
		if to.id != was.lease {
			b.lessor.put(to.id, to.seconds) // nothing was bound to it
		}
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			err = cas.ErrRaced
		}
		return cas.Item{}, err
	}
	if len(w.Records) > 0 {
		b.wakeNumberer()
	}
	if was.lease != to.id {
		b.lessor.put(was.lease, was.seconds)
	}
	if to.term != 0 && to.term != answer.term {
		if err := b.confirm(ctx, w.Row.Resource, to); err != nil {
			if !errors.Is(err, cas.ErrRaced) {
				b.doubts.note(t)
			}
			return cas.Item{}, err
		}
	}
	return t.written(answer.revision), nil
}

// bind returns the etcd lease that the key is to be bound to; none for one without
// an end, and for one that ends.
func (b *backend) bind(ctx context.Context, was version, w cas.Write) (bound, error) {
	switch {
	case !w.Row.State.Locked(), w.TTL == leasehold.Infinite:
		return bound{}, nil
	case w.TTL == 0:
		return bound{id: was.lease, seconds: was.seconds}, nil
	case was.lease != 0 && was.seconds == wholeSeconds(w.TTL) && w.Row.State == leasehold.StateActive:
		return b.lessor.restart(ctx, was.lease, was.seconds)
	}
	return b.lessor.obtain(ctx, w.TTL)
}

// confirm makes sure that etcd's present leader has let the lease start again, after
// a change of leaders: a term in which both the lease and a read of the key were
// answered has had one leader throughout.
func (b *backend) confirm(ctx context.Context, resource string, to bound) error {
	for {
		var read *clientv3.GetResponse
		alive, err := b.lessor.restart(ctx, to.id, to.seconds)
		if err == nil {
			read, err = b.client.Get(ctx, b.keys.lease(resource))
		}
		switch {
		case errors.Is(err, rpctypes.ErrLeaseNotFound):
			return cas.ErrRaced // it has ended meanwhile
		case err != nil:
			return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: describe(err)}
		case alive.term == read.Header.RaftTerm:
			return nil // if the key is not there, somebody has ended it since
		}
	}
}

// transaction is one write: the key of the resource, those of its ids and of its
// caller, and its record.
type transaction struct {
	*backend
	state *storeState
	was   version
	write cas.Write
	to    bound
	after uint64 // the last number that was known before

	conditions []clientv3.Cmp
	ops        []clientv3.Op
	recorded   int            // how many of them, at the end, are for the history
	done       chan committed // of one
}

func (t *transaction) build() {
	row := t.write.Row
	key := t.keys.lease(row.Resource)
	t.conditions = append(t.conditions, unchanged(key, t.was.revision),
		unchanged(t.keys.store(), t.state.revision), sameText(t.keys.settings(), t.write.Settings))
	if t.was.revision == 0 {
		t.conditions = append(t.conditions, unchanged(t.keys.void(t.write.Marks[0]), 0))
	}
	if !row.State.Locked() {
		t.ops = append(t.ops, clientv3.OpDelete(key))
	} else {
		t.put(key, encodeValue(t.write, t.to.seconds))
	}
	t.index()
	records := recordOps(t.keys, t.state.Base, t.write.Marks[0], t.write.Records)
	t.ops, t.recorded = append(t.ops, records...), len(records)
}

// unchanged needs the key to be as it was; revision zero is that of none.
func unchanged(key string, revision int64) clientv3.Cmp {
	return clientv3.Compare(clientv3.ModRevision(key), "=", revision)
}

// open needs the store to be as it was last read, unless it was closed.
func (b *backend) open() (same clientv3.Cmp, err error) {
	state := b.store.Load()
	return unchanged(b.keys.store(), state.revision), state.refuse(writing)
}

// sameText needs the key to have this text; empty is that of none.
func sameText(key, text string) clientv3.Cmp {
	if text == "" {
		return unchanged(key, 0)
	}
	return clientv3.Compare(clientv3.Value(key), "=", text)
}

func (t *transaction) put(key, text string) {
	if t.to.id == 0 {
		t.ops = append(t.ops, clientv3.OpPut(key, text))
		return
	}
	t.ops = append(t.ops, clientv3.OpPut(key, text, clientv3.WithLease(t.to.id)))
}

// index writes what leads to the resource: nothing is written that stays as it is.
func (t *transaction) index() {
	before, after := t.indexed(t.write.Was.Row), t.indexed(t.write.Row)
	for key, text := range after {
		old, had := before[key]
		if !had && text[0] == currentID[0] { // a new id must be new in the whole store
			t.conditions = append(t.conditions, unchanged(key, 0))
		}
		if !had || old != text || t.was.lease != t.to.id {
			t.put(key, text)
		}
	}
	for key := range before {
		if _, stays := after[key]; !stays {
			t.ops = append(t.ops, clientv3.OpDelete(key))
		}
	}
}

// indexed are the keys that lead to a row, and their texts.
func (b *backend) indexed(row machine.Row) map[string]string {
	all := map[string]string{}
	if !row.State.Locked() {
		return all
	}
	if !row.Former.IsZero() {
		all[b.keys.id(row.Former)] = formerID + row.Resource
	}
	all[b.keys.id(row.ID)] = currentID + row.Resource
	if row.Caller != "" {
		all[b.keys.caller(row.Caller, row.Resource)] = callerText
	}
	return all
}

// callerText is the text of a caller's key, which only counts.
const callerText = "+"

// written is the item after the write at a revision.
func (t *transaction) written(revision int64) cas.Item {
	row, now := t.write.Row, t.now()
	if !row.State.Locked() {
		return cas.Item{Row: machine.Row{Resource: row.Resource}, Now: now, Settings: t.write.Settings}
	}
	if row.Token == 0 {
		row.Token = t.state.Base + uint64(revision)
	}
	if t.to.id != 0 {
		row.Ends = machine.Time(now.UnixNano() + t.to.seconds*int64(time.Second)) // at most
	}
	at := version{revision, t.to.id, t.to.seconds}
	return cas.Item{Row: row, Marks: t.write.Marks, Version: at.encode(), Now: now, Settings: t.write.Settings}
}
