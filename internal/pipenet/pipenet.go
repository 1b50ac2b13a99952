// Package pipenet is a network inside the process, for tests: it needs no port, and
// it works in a synctest bubble, where a real network would stop the clock.
package pipenet

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Listener accepts the connections that its own Dial makes.
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Listen returns a listener. Close it.
func Listen() *Listener {
	return &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return loopback(80) }

// Dial connects to the listener, whatever the address, for http.Transport.DialContext.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := duplex()
	select {
	case l.conns <- theirs:
		return ours, nil
	case <-l.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// loopback is an address of this machine, since servers look at where callers are.
func loopback(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }

// end is one end of a connection. It is made of a pipe for each direction, because it
// can then be closed in one direction, as TCP can.
type end struct{ in, out net.Conn }

func duplex() (a, b *end) {
	aOut, bIn := net.Pipe()
	bOut, aIn := net.Pipe()
	return &end{in: aIn, out: aOut}, &end{in: bIn, out: bOut}
}

func (e *end) Read(p []byte) (int, error)         { return e.in.Read(p) }
func (e *end) Write(p []byte) (int, error)        { return e.out.Write(p) }
func (e *end) CloseWrite() error                  { return e.out.Close() }
func (e *end) Close() error                       { return errors.Join(e.in.Close(), e.out.Close()) }
func (e *end) LocalAddr() net.Addr                { return loopback(80) }
func (e *end) RemoteAddr() net.Addr               { return loopback(50000) }
func (e *end) SetReadDeadline(t time.Time) error  { return e.in.SetReadDeadline(t) }
func (e *end) SetWriteDeadline(t time.Time) error { return e.out.SetWriteDeadline(t) }

func (e *end) SetDeadline(t time.Time) error {
	return errors.Join(e.SetReadDeadline(t), e.SetWriteDeadline(t))
}
