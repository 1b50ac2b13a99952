package plainhttp

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The limits of the servers that are compared.
const (
	testLimit = 16 << 10
	slop      = 4 << 10 // what http.Server allows beyond its limit
)

// wire is the server's end of a connection whose client has sent all it has to
// say and closed its half. Nothing on it depends on timing or on the network.
type wire struct {
	name string
	step int // bytes that arrive at a time
	done chan struct{}
	once sync.Once

	mu   sync.Mutex
	in   []byte
	out  bytes.Buffer
	shut bool
	seen []*seen
}

func (w *wire) Read(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.shut:
		return 0, net.ErrClosed
	case len(w.in) == 0:
		return 0, io.EOF
	}
	n := copy(p, w.in[:min(w.step, len(w.in))])
	w.in = w.in[n:]
	return n, nil
}

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shut {
		return 0, net.ErrClosed
	}
	return w.out.Write(p)
}

// CloseWrite is the end of the conversation: what follows is only the time that
// servers give to a client that still sends.
func (w *wire) CloseWrite() error {
	w.once.Do(func() { close(w.done) })
	return nil
}

func (w *wire) Close() error {
	w.mu.Lock()
	w.shut = true
	w.mu.Unlock()
	return w.CloseWrite()
}

func (w *wire) LocalAddr() net.Addr              { return address("server") }
func (w *wire) RemoteAddr() net.Addr             { return address(w.name) }
func (w *wire) SetDeadline(time.Time) error      { return nil }
func (w *wire) SetReadDeadline(time.Time) error  { return nil }
func (w *wire) SetWriteDeadline(time.Time) error { return nil }

type address string

func (address) Network() string  { return "wire" }
func (a address) String() string { return string(a) }

// wires is a listener for connections without a network.
type wires struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newWires() *wires { return &wires{conns: make(chan net.Conn), done: make(chan struct{})} }

func (l *wires) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *wires) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *wires) Addr() net.Addr { return address("server") }

// rig is one of the servers that are compared.
type rig struct {
	listener *wires
	open     sync.Map // names of connections to their *wire
	count    atomic.Int64
}

// serving is what both servers can.
type serving interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
}

// newRigs starts both servers, with the same handler and the same limits.
func newRigs(t testing.TB) (theirs, ours *rig) {
	quiet := log.New(io.Discard, "", 0)
	theirs, ours = &rig{listener: newWires()}, &rig{listener: newWires()}
	theirs.start(t, &http.Server{
		Handler: theirs, ErrorLog: quiet,
		ReadHeaderTimeout: time.Hour, IdleTimeout: time.Hour, MaxHeaderBytes: testLimit,
	})
	ours.start(t, &Server{
		Handler: ours, ErrorLog: quiet,
		ReadHeaderTimeout: time.Hour, IdleTimeout: time.Hour, MaxHeaderBytes: testLimit, CommonHeaders: testCommon,
	})
	return theirs, ours
}

func (g *rig) start(t testing.TB, s serving) {
	served := make(chan error)
	go func() { served <- s.Serve(g.listener) }()
	t.Cleanup(func() {
		_ = s.Shutdown(context.Background())
		<-served
	})
}

// say lets a client say something, and returns all that came of it.
func (g *rig) say(send string, step int) (answers []answer, sights []*seen) {
	w := &wire{name: strconv.FormatInt(g.count.Add(1), 10), step: step, in: []byte(send), done: make(chan struct{})}
	g.open.Store(w.name, w)
	defer g.open.Delete(w.name)
	g.listener.conns <- w
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	return parseAnswers(w.out.Bytes()), w.seen
}

// ServeHTTP notes what the handler sees on which connection.
func (g *rig) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c, _ := g.open.Load(r.RemoteAddr)
	s := newSeen(r)
	c.(*wire).mu.Lock()
	c.(*wire).seen = append(c.(*wire).seen, s)
	c.(*wire).mu.Unlock()
	s.handle(w, r)
}
