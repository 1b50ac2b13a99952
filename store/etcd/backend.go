package etcd

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// kind is the store's name in errors.
const kind = "etcd"

// backend is etcd as package cas sees it.
type backend struct {
	client *clientv3.Client
	keys   keys
	opened bool // the client is ours
	limit  time.Duration
	start  time.Time // what the clock counts from
	lessor lessor

	store   atomic.Pointer[storeState]
	doubts  doubts
	batches batches

	stop     context.CancelFunc // ends the numbering
	records  chan struct{}      // of one: there are records without numbers
	numberer sync.WaitGroup

	numbering chan struct{} // of one: it is under way
	last      atomic.Uint64 // number that is known
}

var (
	_ cas.Backend    = (*backend)(nil)
	_ cas.Finder     = (*backend)(nil)
	_ cas.Timer      = (*backend)(nil)
	_ cas.Resolver   = (*backend)(nil)
	_ cas.Notifier   = (*backend)(nil)
	_ cas.Configurer = (*backend)(nil)
	_ cas.Counter    = (*backend)(nil)
	_ cas.Follower   = (*backend)(nil)
	_ cas.Purger     = (*backend)(nil)
)

func newBackend(client *clientv3.Client, o Options, opened bool) *backend {
	ctx, stop := context.WithCancel(context.Background())
	b := &backend{
		client: client, keys: keys{o.Prefix}, opened: opened, limit: o.Timeout, start: time.Now(), stop: stop,
		records: make(chan struct{}, 1), numbering: make(chan struct{}, 1),
	}
	b.batches.backend = b
	b.lessor.client, b.lessor.streams.client = client, client
	b.store.Store(&storeState{})
	b.numberer.Go(func() { b.numberLoop(ctx) })
	return b
}

// Traits implements cas.Backend.
func (b *backend) Traits() cas.Traits {
	return cas.Traits{Kind: kind, OwnExpiry: true, TimerGrain: time.Second, OwnTokens: true, OwnIndex: true}
}

// Close implements cas.Backend.
func (b *backend) Close() error {
	b.stop()
	b.numberer.Wait()
	b.batches.senders.Wait()
	b.lessor.close()
	if b.opened {
		return b.client.Close()
	}
	return nil
}

// now is the time of this process, which never steps.
func (b *backend) now() time.Time { return b.start.Add(time.Since(b.start)) }

// Load implements cas.Backend.
func (b *backend) Load(ctx context.Context, resource string) (cas.Item, error) {
	v, err := b.read(ctx, clientv3.OpGet(b.keys.lease(resource)))
	if err != nil {
		return cas.Item{}, err
	}
	item := cas.Item{Row: machine.Row{Resource: resource}, Now: b.now()}
	if len(v.found.Kvs) > 0 {
		if item, err = decodeItem(v.found.Kvs[0], resource, v.state.Base, b.now()); err != nil {
			return cas.Item{}, unavailable(err)
		}
	}
	item.Settings = v.settings
	return item, nil
}

// view is what was read in one step with the configuration.
type view struct {
	found    *etcdserverpb.RangeResponse
	settings string
	state    *storeState
}

// read gets keys together with the configuration, in one step, unless the store is
// closed to readers.
func (b *backend) read(ctx context.Context, get clientv3.Op) (view, error) {
	v, err := b.look(ctx, get)
	if err == nil {
		err = v.state.refuse(reading)
	}
	return v, err
}

// look is read of any store.
func (b *backend) look(ctx context.Context, get clientv3.Op) (view, error) {
	answer, err := b.commit(ctx, reading, nil, []clientv3.Op{get, b.getConfig()})
	if err != nil {
		return view{}, err
	}
	v := view{found: answer.Responses[0].GetResponseRange()}
	v.state, v.settings, err = b.configured(answer.Responses[1].GetResponseRange().Kvs)
	return v, err
}

func (b *backend) getConfig() clientv3.Op {
	return clientv3.OpGet(b.keys.config(), under(b.keys.config()))
}

// configured notes what the keys under config/ say.
func (b *backend) configured(kvs []*mvccpb.KeyValue) (state *storeState, settings string, err error) {
	state = &storeState{}
	for _, kv := range kvs {
		switch string(kv.Key) {
		case b.keys.settings():
			settings = string(kv.Value)
		case b.keys.leaving():
			state.leaving = clientv3.LeaseID(kv.Lease)
		case b.keys.store():
			if err := json.Unmarshal(kv.Value, state); err != nil {
				return nil, "", unavailable(errForeign)
			}
			state.revision = kv.ModRevision
		}
	}
	b.store.Store(state)
	return state, settings, nil
}

// Scan implements cas.Backend.
func (b *backend) Scan(ctx context.Context, prefix, after string, n int) ([]cas.Item, error) {
	return b.scan(ctx, b.read, prefix, after, n)
}

// scan is Scan by read or look.
func (b *backend) scan(ctx context.Context, get func(context.Context, clientv3.Op) (view, error), prefix, after string, n int) ([]cas.Item, error) {
	from := b.keys.lease(prefix)
	if past := b.keys.lease(after) + "\x00"; after != "" && past > from {
		from = past
	}
	end := clientv3.GetPrefixRangeEnd(b.keys.lease(prefix))
	if from >= end {
		return nil, nil
	}
	v, err := get(ctx, clientv3.OpGet(from, clientv3.WithRange(end), clientv3.WithLimit(int64(n))))
	if err != nil {
		return nil, err
	}
	items := make([]cas.Item, 0, len(v.found.Kvs))
	for _, kv := range v.found.Kvs {
		item, err := decodeItem(kv, strings.TrimPrefix(string(kv.Key), b.keys.leases()), v.state.Base, b.now())
		if err != nil {
			return nil, unavailable(err)
		}
		items = append(items, item)
	}
	return items, nil
}

// The values of the keys of ids begin with one of these, and the resource follows.
const (
	currentID = "="
	formerID  = "<" // the id before a change or a transfer
)

// Find implements cas.Finder. The items have no more than it takes to load them.
func (b *backend) Find(ctx context.Context, id leasehold.ID) ([]cas.Item, error) {
	v, err := b.read(ctx, clientv3.OpGet(b.keys.id(id)))
	if err != nil || len(v.found.Kvs) == 0 {
		return nil, err
	}
	now := b.now()
	row := machine.Row{State: leasehold.StateActive, ID: id, Ends: machine.Never}
	text := string(v.found.Kvs[0].Value)
	if resource, ok := strings.CutPrefix(text, formerID); ok {
		row.Resource, row.ID, row.Former = resource, leasehold.ID{}, id
	} else {
		row.Resource = strings.TrimPrefix(text, currentID)
	}
	return []cas.Item{{Row: row, Version: "found", Now: now}}, nil
}

// Remaining implements cas.Timer.
func (b *backend) Remaining(ctx context.Context, items []cas.Item) error {
	return inParallel(len(items), func(i int) error { return b.remaining(ctx, &items[i]) })
}

// inParallel calls each up to n, some at a time, and returns the first error.
func inParallel(n int, each func(i int) error) error {
	limit := make(chan struct{}, 16) // at a time
	errs := make(chan error, n)
	for i := range n {
		limit <- struct{}{}
		go func() {
			defer func() { <-limit }()
			errs <- each(i)
		}()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// remaining sets the end of one lease. etcd says whole seconds, rounded down.
func (b *backend) remaining(ctx context.Context, item *cas.Item) error {
	lease := decodeVersion(item.Version).lease
	if lease == 0 {
		return nil
	}
	left, err := b.timeToLive(ctx, lease)
	if err != nil {
		return err
	}
	remains := max(1, left) // gone or going: nearly nothing
	if item.Row.State == leasehold.StateActive {
		remains = min(remains, item.Row.TTL)
	}
	item.Row.Ends = machine.Time(item.Now.UnixNano() + int64(remains))
	return nil
}

// timeToLive is what is left of an etcd lease, rounded down; negative: it is gone.
func (b *backend) timeToLive(ctx context.Context, lease clientv3.LeaseID) (time.Duration, error) {
	var left *clientv3.LeaseTimeToLiveResponse
	err := b.call(ctx, reading, func(ctx context.Context) (err error) {
		left, err = b.client.TimeToLive(ctx, lease)
		return err
	})
	if err != nil {
		return 0, err
	}
	return time.Duration(left.TTL) * time.Second, nil
}

// Count implements cas.Counter.
func (b *backend) Count(ctx context.Context, caller string, _ int64) (live, callers int64, err error) {
	ops := []clientv3.Op{clientv3.OpGet(b.keys.leases(), under(b.keys.leases()), clientv3.WithCountOnly())}
	if caller != "" {
		ops = append(ops, clientv3.OpGet(b.keys.callers(caller), under(b.keys.callers(caller)), clientv3.WithCountOnly()))
	}
	answer, err := b.commit(ctx, reading, nil, ops)
	if err != nil {
		return 0, 0, err
	}
	live = answer.Responses[0].GetResponseRange().Count
	if caller != "" {
		callers = answer.Responses[1].GetResponseRange().Count
	}
	return live, callers, nil
}

// Notify implements cas.Notifier: a lease that ends, however, is a deleted key.
func (b *backend) Notify(ctx context.Context, ready func(), freed func(resource string)) error {
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	for news := range b.client.Watch(ctx, b.keys.leases(), under(b.keys.leases()), clientv3.WithFilterPut(), clientv3.WithCreatedNotify()) {
		if err := news.Err(); err != nil {
			return err // compacted, or without a leader: a new watch starts with the present
		}
		if news.Created {
			ready()
		}
		for _, event := range news.Events {
			freed(strings.TrimPrefix(string(event.Kv.Key), b.keys.leases()))
		}
	}
	return ctx.Err()
}
