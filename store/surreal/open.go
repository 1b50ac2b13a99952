package surreal

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/surrealdb/surrealdb.go"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// openFor is how long Open tries, however long operations may take.
const openFor = 4 * time.Second

// Store keeps leases in SurrealDB. It has every power of package cas.
type Store struct {
	*cas.Store
	backend *backend
}

// New makes a store on a client that has signed in and chosen a namespace and a
// database. The tables are made if they are missing. Close leaves the client open.
//
// A client that does not connect again by itself makes the store useless when its
// connection is lost: see rews in surrealdb.go/contrib, or use Open.
func New(ctx context.Context, db *surrealdb.DB, o *Options) (*Store, error) {
	full := o.orDefaults()
	switch {
	case db == nil:
		return nil, invalid("db", "is nil; want a client")
	case full.connects():
		return nil, invalid("Options", "say where to connect; want that of Open only, a client has its own")
	}
	if err := full.validate(); err != nil {
		return nil, err
	}
	return newStore(ctx, db, full, nil)
}

// Open connects, signs in and makes the tables if they are missing. The connection
// comes back by itself when it was lost. Close closes it.
func Open(ctx context.Context, o *Options) (*Store, error) {
	full := o.orDefaults().withPlace()
	if err := full.validateOpen(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	c := newConn(full)
	db, err := surrealdb.FromConnection(ctx, c)
	if err != nil {
		c.close()
		return nil, openError(ctx, full, err)
	}
	s, err := newStore(ctx, db, full, c)
	if err != nil {
		c.close()
		return nil, err
	}
	return s, nil
}

func newStore(ctx context.Context, db *surrealdb.DB, o Options, own *conn) (*Store, error) {
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	b := &backend{db: db, own: own, numbering: make(chan struct{}, 1)}
	if err := b.define(ctx, o.MustExist); err != nil {
		return nil, openError(ctx, o, err)
	}
	return &Store{cas.New(b, &cas.Options{Limit: o.Timeout}), b}, nil
}

// openError is the error of Open and New.
func openError(ctx context.Context, o Options, err error) error {
	var e *leasehold.Error
	if !errors.As(err, &e) {
		e = unavailable(err)
	}
	if timeout := (net.Error)(nil); o.TLS != nil && (ctx.Err() != nil || errors.As(err, &timeout) && timeout.Timeout()) {
		e = unavailable(&described{"surreal: no answer; does the server speak TLS?", err})
	}
	full := *e
	full.Reason, full.Op, full.Store = leasehold.ReasonUnavailable, "open", kind
	return &full
}
