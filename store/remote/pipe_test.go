package remote_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// pipes is a network inside the process, so that it works in a bubble. Unlike
// net.Pipe alone its connections can be closed in one direction, as TCP can.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return pipeAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := duplex()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type pipeAddr struct{}

func (pipeAddr) Network() string { return "pipe" }
func (pipeAddr) String() string  { return "pipe" }

// end is one end of a connection made of a pipe for each direction.
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
func (e *end) LocalAddr() net.Addr                { return pipeAddr{} }
func (e *end) RemoteAddr() net.Addr               { return pipeAddr{} }
func (e *end) SetReadDeadline(t time.Time) error  { return e.in.SetReadDeadline(t) }
func (e *end) SetWriteDeadline(t time.Time) error { return e.out.SetWriteDeadline(t) }

func (e *end) SetDeadline(t time.Time) error {
	return errors.Join(e.SetReadDeadline(t), e.SetWriteDeadline(t))
}
