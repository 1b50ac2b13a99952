package plainhttp

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// conn is one connection.
type conn struct {
	server   *Server
	rw       net.Conn
	remote   string
	in       *bufio.Reader // of the connection itself, which notices failures
	out      *bufio.Writer
	quick    quick
	response response        // the last one
	header   http.Header     // of an answer; the next one has the same map
	context  context.Context // of its requests
	cancel   context.CancelFunc
	state    atomic.Int32
	touched  atomic.Int64 // the server's tick when it last read, wrote or got a request
	writing  atomic.Bool
	used     bool      // it has had a request
	until    time.Time // the deadline for reading
}

// The states of a connection.
const (
	idle   int32 = iota // between requests
	active              // a request is under way
	gone                // closed by the server
)

const bufferSize = 4 << 10 // as net/http's

// piece is how much is written at a time: a client that takes that much in
// StallTimeout is quick enough.
const piece = 64 << 10

func newConn(s *Server, rw net.Conn) *conn {
	c := &conn{server: s, rw: rw, header: make(http.Header, 8)}
	c.in, c.out = bufio.NewReaderSize(c, bufferSize), bufio.NewWriterSize(c, bufferSize)
	c.context, c.cancel = context.WithCancel(context.Background())
	if a := rw.RemoteAddr(); a != nil {
		c.remote = a.String()
	}
	c.quick = newQuick(c)
	return c
}

// Read reads from the client. One that is gone is no longer worked for.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.rw.Read(p)
	c.touch()
	if err != nil {
		c.cancel()
	}
	return n, err
}

// readBy sets the deadline for reading; the zero time is none.
func (c *conn) readBy(t time.Time) error {
	c.until = t
	return c.rw.SetReadDeadline(t)
}

// Write writes to the client.
func (c *conn) Write(p []byte) (n int, err error) {
	c.touch()
	c.writing.Store(true)
	for err == nil && n < len(p) {
		var m int
		m, err = c.rw.Write(p[n:min(n+piece, len(p))])
		n += m
		c.touch()
	}
	c.writing.Store(false)
	if err != nil {
		c.cancel()
	}
	return n, err
}

func (c *conn) touch() { c.touched.Store(c.server.tick.Load()) }

// giveUp ends the context of a request that has stood still since a tick, and
// with it the connection, before or after the answer: if it is the client that
// does not take the answer, at once.
func (c *conn) giveUp(since int64) {
	writing := c.writing.Load() // first: a write that begins from now on has touched
	if c.state.Load() != active || c.touched.Load() >= since {
		return
	}
	c.cancel()
	if writing {
		_ = c.rw.SetWriteDeadline(time.Now())
	}
}

// closeIdle closes the connection unless it has a request under way.
func (c *conn) closeIdle() {
	if c.state.CompareAndSwap(idle, gone) {
		c.rw.Close()
	}
}

// abort closes the connection whatever it does.
func (c *conn) abort() {
	c.state.Store(gone)
	c.rw.Close()
}

// serve answers requests until the connection ends.
func (c *conn) serve() {
	defer c.server.leave(c)
	defer c.rw.Close()
	defer c.cancel()
	defer c.recover()
	for {
		r, err := c.next()
		if err != nil {
			c.refuse(err)
			return
		}
		if keep := c.answer(r); !keep {
			return
		}
		clear(c.header)
		c.quick.forget()
		c.response = response{} // an idle connection keeps nothing
		if !c.state.CompareAndSwap(active, idle) || c.server.closing.Load() || c.context.Err() != nil {
			return
		}
	}
}

// recover ends a connection whose handler has panicked, and tells of it unless
// the handler only wanted the end.
func (c *conn) recover() {
	if p := recover(); p != nil && p != http.ErrAbortHandler {
		c.server.logf("http: panic serving %v: %v\n%s", c.remote, p, debug.Stack())
	}
}

// answer has the handler answer a request. It reports whether the connection
// can have another one.
func (c *conn) answer(r *http.Request) (keep bool) {
	w := &c.response
	*w = response{conn: c, request: r, header: c.header}
	if r.Context() != c.context {
		w.request = r.WithContext(c.context)
	}
	w.close = r.Close || !r.ProtoAtLeast(1, 1)
	w.body.begin(w, r)
	r = w.request
	if r.RequestURI == "*" && r.Method == http.MethodOptions { // net/http keeps this one from handlers, too
		w.hurry()
	} else {
		c.server.Handler.ServeHTTP(w, r)
	}
	w.finish()
	if c.out.Flush() != nil {
		return false
	}
	if w.close && !w.body.ended() {
		c.linger()
	}
	return !w.close
}

// linger gives a client that still sends the time to see the answer: a
// connection that is closed with unread bytes is reset, and the answer lost.
func (c *conn) linger() {
	if half, ok := c.rw.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	time.Sleep(farewell)
}

const farewell = 500 * time.Millisecond // as net/http's

// refuse answers what cannot be read as a request. A client that left, or was
// too slow, gets no answer.
func (c *conn) refuse(err error) {
	bad, ok := err.(badRequest)
	if !ok {
		return
	}
	status := fmt.Sprintf("%d %s", int(bad), http.StatusText(int(bad)))
	fmt.Fprintf(c.out, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n%s", status, status)
	if c.out.Flush() == nil {
		c.linger()
	}
}
