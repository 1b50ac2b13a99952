package surreal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/connection/gorillaws"
)

// conn is a connection that comes back: a call on a lost one dials, signs in and
// chooses the database again. The client library's own connections do not, keep
// calls waiting that were under way, and one panics when it is reset.
type conn struct {
	connection.Connection // for its codec; it is never connected

	o       Options
	turn    chan struct{} // of one: who has it may look at and replace link
	link    *link         // nil: none yet
	closing context.Context
	stop    context.CancelFunc
}

var _ connection.Connection = (*conn)(nil)

func newConn(o Options) *conn {
	scheme := "ws"
	if o.TLS != nil {
		scheme = "wss"
	}
	place := &url.URL{Scheme: scheme, Host: o.Address}
	closing, stop := context.WithCancel(context.Background())
	return &conn{
		Connection: gorillaws.New(connection.NewConfig(place)),
		o:          o, turn: make(chan struct{}, 1), closing: closing, stop: stop,
	}
}

var errClosed = errors.New("surreal: the connection is closed")

// notSent is the error of a request that did not leave this process.
type notSent struct{ cause error }

func (e notSent) Error() string { return e.cause.Error() }
func (e notSent) Unwrap() error { return e.cause }

// Connect implements connection.Connection.
func (c *conn) Connect(ctx context.Context) error {
	_, err := c.current(ctx)
	return err
}

// current returns a connection that is signed in.
func (c *conn) current(ctx context.Context) (*link, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return nil, notSent{fmt.Errorf("surreal: no connection: %w", context.Cause(ctx))}
	}
	if c.closing.Err() != nil {
		return nil, notSent{errClosed}
	}
	if c.link != nil && !c.link.lost() {
		return c.link, nil
	}
	if c.link != nil {
		c.link.close()
		c.link = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	l, err := c.dial(ctx)
	if err != nil {
		return nil, notSent{err}
	}
	c.link = l
	return l, nil
}

// dial connects, signs in and chooses the database.
func (c *conn) dial(ctx context.Context) (*link, error) {
	l, err := dialLink(ctx, c.o)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, l); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// prepare makes the session of a new connection.
func (c *conn) prepare(ctx context.Context, l *link) error {
	if c.o.Username != "" {
		auth := surrealdb.Auth{Username: c.o.Username, Password: c.o.Password}
		if c.o.Level != LevelRoot {
			auth.Namespace = c.o.Namespace
		}
		if c.o.Level == LevelDatabase {
			auth.Database = c.o.Database
		}
		if err := l.again(ctx, "signin", auth); err != nil {
			return sessionError("the user cannot sign in", err)
		}
	}
	if err := l.again(ctx, "use", c.o.Namespace, c.o.Database); err != nil {
		return sessionError("the database cannot be used", err)
	}
	return nil
}

// again calls until the server says something else than that it was busy: others
// may make the same database at the same time.
func (l *link) again(ctx context.Context, method string, params ...any) error {
	for {
		_, err := l.call(ctx, &connection.RPCRequest{Method: method, Params: params})
		var refused *connection.RPCError
		if !errors.As(err, &refused) || !strings.Contains(refused.Error(), retryable) || shortPause(ctx) != nil {
			return err
		}
	}
}

// sessionError keeps what the server said out, for it may repeat what was sent.
func sessionError(what string, err error) error {
	var refused *connection.RPCError
	if errors.As(err, &refused) {
		return errors.New("surreal: " + what + ": " + shown(refused.Error()))
	}
	return fmt.Errorf("surreal: %s: %w", what, err)
}

// Call implements connection.Connection. A request that came when the server had
// ended the session was not executed, and is sent again in a new one.
func (c *conn) Call(ctx context.Context, r *connection.RPCRequest) (*connection.RPCResponse[cbor.RawMessage], error) {
	answer, err := c.callOnce(ctx, r)
	if sessionExpired(err) {
		answer, err = c.callOnce(ctx, r)
	}
	return answer, err
}

func (c *conn) callOnce(ctx context.Context, r *connection.RPCRequest) (*connection.RPCResponse[cbor.RawMessage], error) {
	l, err := c.current(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := l.call(ctx, r)
	if sessionExpired(err) {
		l.fail(errExpired)
	}
	return answer, err
}

var errExpired = errors.New("surreal: the server has ended the session")

func sessionExpired(err error) bool {
	var refused *connection.RPCError
	return errors.As(err, &refused) && strings.Contains(refused.Error(), "session has expired")
}

// Send implements connection.Connection.
func (c *conn) Send(ctx context.Context, method string, params ...any) (*connection.RPCResponse[cbor.RawMessage], error) {
	return c.Call(ctx, &connection.RPCRequest{Method: method, Params: params})
}

// close ends the connection and returns when nothing of it runs.
func (c *conn) close() {
	c.stop()
	c.turn <- struct{}{}
	defer func() { <-c.turn }()
	if c.link != nil {
		c.link.close()
	}
}
