package etcd

import (
	"context"
	"errors"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// Store keeps leases in etcd.
type Store struct {
	*cas.Store
	backend *backend
}

// openFor is how long Open and New try, however long operations may take.
const openFor = 3 * time.Second

// New returns a store on a client, which stays its owner's: close it after the
// store. It tries whether etcd answers and knows the user.
func New(ctx context.Context, client *clientv3.Client, o *Options) (*Store, error) {
	full := o.orDefaults()
	if full.connects() {
		return nil, invalid("Endpoints", "and whatever else says how to connect is for Open; the client that is handed in has its own")
	}
	if client == nil {
		return nil, invalid("client", "is nil; want one, or use Open")
	}
	if err := full.validate(); err != nil {
		return nil, err
	}
	return open(ctx, client, full, false)
}

// Open connects, and tries whether etcd answers and knows the user. Close closes the
// connection.
func Open(ctx context.Context, o *Options) (*Store, error) {
	full := o.orDefaults()
	if err := full.validate(); err != nil {
		return nil, err
	}
	if len(full.Endpoints) == 0 {
		full.Endpoints = []string{"127.0.0.1:2379"}
	}
	limited, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	if err := reach(limited, full.Endpoints, full.TLS); err != nil {
		return nil, openError(limited, err)
	}
	client, err := full.connect(limited)
	if err != nil {
		return nil, openError(limited, silent(ctx, full, err))
	}
	return open(ctx, client, full, true)
}

// connect makes a client. It logs in, if there is a user.
func (o Options) connect(ctx context.Context) (*clientv3.Client, error) {
	config := clientv3.Config{
		Endpoints: o.Endpoints, Username: o.Username, Password: o.Password, TLS: o.TLS, Logger: zap.NewNop(),
		DialTimeout: openFor, // of the login
		// etcd allows a ping every five seconds.
		DialKeepAliveTime: 6 * time.Second, DialKeepAliveTimeout: 2 * time.Second,
	}
	type result struct {
		client *clientv3.Client
		err    error
	}
	made := make(chan result, 1)
	connect := clientv3.New
	if o.Username != "" {
		connect = newLoggedIn
	}
	go func() {
		client, err := connect(config)
		made <- result{client, err}
	}()
	select {
	case r := <-made:
		return r.client, r.err
	case <-ctx.Done():
		go func() {
			if r := <-made; r.client != nil {
				_ = r.client.Close()
			}
		}()
		return nil, context.Cause(ctx)
	}
}

// open makes the store and tries it.
func open(ctx context.Context, client *clientv3.Client, o Options, opened bool) (*Store, error) {
	b := newBackend(client, o, opened)
	limited, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	if err := b.probe(limited); err != nil {
		_ = b.Close()
		if limited.Err() != nil {
			err = silent(ctx, o, err)
		}
		return nil, openError(limited, err)
	}
	return &Store{cas.New(b, &cas.Options{Limit: o.Timeout}), b}, nil
}

// probe reads, and tries whether the user may write, by a write that never happens.
func (b *backend) probe(ctx context.Context) error {
	if _, err := b.look(ctx, clientv3.OpGet(b.keys.counter())); err != nil {
		return err
	}
	never := clientv3.Compare(clientv3.ModRevision(b.keys.counter()), "<", 0)
	_, err := b.commit(ctx, reading, []clientv3.Cmp{never}, []clientv3.Op{
		clientv3.OpPut(b.keys.counter(), ""), clientv3.OpDelete(b.keys.pending(), under(b.keys.pending())),
	})
	if errors.Is(err, cas.ErrRaced) || errors.Is(err, rpctypes.ErrNoSpace) { // leases can still be released
		return nil
	}
	return err
}

// openError completes the error of New and Open.
func openError(ctx context.Context, err error) error {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		errors.As((&backend{}).classify(ctx, reading, err), &e)
	}
	full := *e
	full.Op, full.Store = "open", kind
	if errors.Is(err, errNeedsTLS) {
		full.Cause = &described{"etcd: " + errNeedsTLS.Error(), full.Cause}
	}
	return &full
}
