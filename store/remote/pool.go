package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

const (
	// idleFor is how long an unused connection is kept.
	idleFor = 90 * time.Second

	// fresh is how long after its last use a connection is taken to be alive
	// without looking.
	fresh = 5 * time.Millisecond
)

// pool is the carrier with connections of its own.
type pool struct {
	address
	fixed string
	most  int
	limit time.Duration // of making a connection
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	tls   *tls.Config

	mu     sync.Mutex
	idle   []*link // the one used last is taken first
	all    map[*link]struct{}
	closed bool
	leaves sync.WaitGroup // callers that left and listen for the last word
}

func newPool(o Options, a address) *pool {
	p := &pool{
		address: a, fixed: fixedHeaders(o, a), most: o.IdleConns, limit: o.Timeout, dial: o.Dial,
		all: map[*link]struct{}{},
	}
	if a.secure {
		p.tls = o.TLS.Clone() // nil stays nil
		if p.tls == nil {
			p.tls = new(tls.Config)
		}
		if p.tls.ServerName == "" {
			p.tls.ServerName = a.name
		}
		p.tls.NextProtos = []string{"http/1.1"}
	}
	return p
}

// send implements carrier. A connection that was idle may have been closed by
// the server meanwhile; then the request goes out on another one, if nothing of
// it was sent or it may be repeated.
func (p *pool) send(q *request) (*answer, error) {
	buffer := buffers.Get().(*[]byte)
	defer putBuffer(buffer)
	*buffer = q.append((*buffer)[:0], p.prefix, p.fixed)
	for {
		l, err := p.take(q.ctx)
		if err != nil {
			return nil, &notSent{err}
		}
		a, err := l.exchange(q, *buffer)
		if err == nil {
			a.Body.(*body).done = p.settle(a)
			return a, nil
		}
		if q.late != nil && l.interrupted() && !errors.As(err, new(*notSent)) {
			p.leave(l, q)
			return nil, err
		}
		p.drop(l)
		if !l.reused || l.interrupted() || !q.repeatable && !errors.As(err, new(*notSent)) || timedOut(err) {
			return nil, err
		}
	}
}

func (l *link) interrupted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.left
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// settle is what becomes of a link when its answer has been read.
func (p *pool) settle(a *answer) func(*link, bool) {
	last := a.Close || a.ProtoMajor == 1 && a.ProtoMinor == 0
	return func(l *link, clean bool) {
		if clean && !last && l.in.Buffered() == 0 {
			p.put(l)
		} else {
			p.drop(l)
		}
	}
}

// leave listens for the server's last word, in the background after a while.
func (p *pool) leave(l *link, q *request) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return
	}
	p.leaves.Add(1)
	p.mu.Unlock()
	said := make(chan struct{})
	go func() {
		defer p.leaves.Done()
		defer close(said)
		defer p.drop(l)
		if a, err := l.leave(); err == nil {
			q.late(a)
		}
	}()
	enough := time.NewTimer(q.patience)
	defer enough.Stop()
	select {
	case <-said:
	case <-enough.C:
	}
}

// take returns an idle connection or a new one.
func (p *pool) take(ctx context.Context) (*link, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	for {
		l, err := p.takeIdle()
		if err != nil {
			return nil, err
		}
		if l == nil {
			return p.connect(ctx)
		}
		if time.Since(l.since) <= fresh || alive(l.conn) {
			l.reused = true
			return l, nil
		}
		p.drop(l)
	}
}

func (p *pool) takeIdle() (*link, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	n := len(p.idle)
	if n == 0 {
		return nil, nil
	}
	l := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return l, nil
}

// reach makes a connection. Even a wait without an end must not wait for ever
// for a server that is not there.
func (p *pool) reach(ctx context.Context) (net.Conn, error) {
	if p.limit > 0 {
		limited, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		ctx = limited
	}
	conn, err := p.dial(ctx, "tcp", p.address.dial)
	if err != nil || p.tls == nil {
		return conn, err
	}
	secure := tls.Client(conn, p.tls)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secure, nil
}

func (p *pool) connect(ctx context.Context) (*link, error) {
	conn, err := p.reach(ctx)
	if err != nil {
		return nil, err
	}
	l := newLink(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = conn.Close()
		return nil, errClosed
	}
	p.all[l] = struct{}{}
	return l, nil
}

// put makes a connection idle, and closes one that has been so for too long.
func (p *pool) put(l *link) {
	l.since = time.Now()
	var surplus *link
	p.mu.Lock()
	switch {
	case p.closed || len(p.idle) >= p.most:
		surplus = l
	case len(p.idle) > 0 && l.since.Sub(p.idle[0].since) > idleFor:
		surplus = p.idle[0]
		copy(p.idle, p.idle[1:])
		p.idle[len(p.idle)-1] = l
	default:
		p.idle = append(p.idle, l)
	}
	p.mu.Unlock()
	if surplus != nil {
		p.drop(surplus)
	}
}

func (p *pool) drop(l *link) {
	_ = l.conn.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, l)
}

// close implements carrier.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	p.idle = nil
	for l := range p.all {
		_ = l.conn.Close()
	}
	p.mu.Unlock()
	p.leaves.Wait()
}
