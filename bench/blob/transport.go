package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

// fresh is how long an unused connection is trusted: a server may close it after
// 5 s, just when the next request is on its way.
const fresh = 2 * time.Second

// patience is how long a server may take for one answer, or half of it.
const patience = time.Minute

// transport carries the SDK's requests, one at a time on each connection, in the
// goroutine that makes them. net/http's own has two more for every connection,
// and what they cost would be taken from the servers, which share the machine.
type transport struct {
	address string
	idle    chan *connection
}

func newTransport(address string) *transport {
	return &transport{address: address, idle: make(chan *connection, 256)}
}

type connection struct {
	net.Conn
	in   *bufio.Reader
	out  *bufio.Writer
	used time.Time // when it was last needed

	until time.Time // the deadline
}

// Do is what the SDK asks of a transport.
func (t *transport) Do(r *http.Request) (*http.Response, error) {
	c, err := t.take(r.Context())
	if err != nil {
		return nil, err
	}
	answer, err := c.exchange(r)
	if err != nil {
		c.Close()
		return nil, err
	}
	body := &body{ReadCloser: answer.Body, connection: c, transport: t, last: answer.Close}
	if answer.ContentLength == 0 || r.Method == http.MethodHead {
		body.Close()
		return answer, nil
	}
	answer.Body = body
	return answer, nil
}

func (t *transport) take(ctx context.Context) (*connection, error) {
	for more := true; more; {
		select {
		case c := <-t.idle:
			if time.Since(c.used) < fresh {
				return c, nil
			}
			c.Close()
		default:
			more = false
		}
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", t.address)
	if err != nil {
		return nil, err
	}
	return &connection{Conn: c, in: bufio.NewReader(c), out: bufio.NewWriter(c)}, nil
}

func (c *connection) exchange(r *http.Request) (*http.Response, error) {
	if err := c.extend(); err != nil {
		return nil, err
	}
	if err := writeRequest(c.out, r); err != nil {
		return nil, err
	}
	return readResponse(c.in, r)
}

// extend moves the deadline when half of it has passed.
func (c *connection) extend() error {
	now := time.Now()
	if c.until.Sub(now) > patience/2 {
		return nil
	}
	c.until = now.Add(patience)
	return c.SetDeadline(c.until)
}

// body gives its connection back once it is closed.
type body struct {
	io.ReadCloser
	connection *connection
	transport  *transport
	last       bool // the server closes the connection after it
	closed     bool
}

func (b *body) Close() error {
	if b.closed {
		return nil
	}
	b.closed = true
	_, err := io.Copy(io.Discard, b.ReadCloser)
	if err != nil || b.last {
		return b.connection.Close()
	}
	b.connection.used = time.Now()
	select {
	case b.transport.idle <- b.connection:
		return nil
	default:
		return b.connection.Close()
	}
}
