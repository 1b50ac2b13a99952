package plainhttp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The timeouts of the servers in these tests; all that counts is that they
// differ.
const (
	headerTime = 5 * time.Second
	idleTime   = 2 * time.Minute
	stallTime  = 20 * time.Minute
)

// house is a server whose clients come through pipes, for bubbles.
type house struct {
	*testing.T
	server   *Server
	listener *wires
	served   chan error
	log      *diary
}

func newHouse(t *testing.T, handler http.HandlerFunc) *house {
	h := &house{T: t, listener: newWires(), served: make(chan error, 1), log: &diary{}}
	h.server = &Server{
		Handler: handler, ErrorLog: log.New(h.log, "", 0),
		ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: testLimit, StallTimeout: stallTime, CommonHeaders: testCommon,
	}
	go func() { h.served <- h.server.Serve(h.listener) }()
	t.Cleanup(func() {
		h.server.Close()
		_ = h.server.Shutdown(context.Background()) // a connection that lingers is not gone yet
	})
	return h
}

// dial is a new client.
func (h *house) dial() *visitor {
	near, far := net.Pipe()
	_ = near.SetDeadline(time.Now().Add(24 * time.Hour)) // a test that waits for nothing fails rather than hangs
	h.listener.conns <- far
	h.Cleanup(func() { near.Close() })
	return &visitor{t: h.T, Conn: near, in: bufio.NewReader(near)}
}

// shutdown begins a shutdown; its result comes.
func (h *house) shutdown(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- h.server.Shutdown(ctx) }()
	return done
}

// visitor is a client on one connection.
type visitor struct {
	net.Conn
	t  *testing.T
	in *bufio.Reader
}

// send does not care whether it is heard: the test looks at what comes back.
func (v *visitor) send(text string) { _, _ = io.WriteString(v.Conn, text) }

// hear reads one answer.
func (v *visitor) hear() answer {
	v.t.Helper()
	a, err := parseAnswer(v.in, "GET")
	if err != nil {
		v.t.Errorf("the answer is %v, and ends with %v", a, err)
	}
	return a
}

// ask sends a request and hears the answer.
func (v *visitor) ask(text string) answer {
	v.t.Helper()
	v.send(text)
	return v.hear()
}

// wantEnd waits until the server closes the connection, which must say nothing
// more.
func (v *visitor) wantEnd() {
	v.t.Helper()
	if rest, err := io.ReadAll(v.in); len(rest) != 0 || err != nil {
		v.t.Errorf("the connection ends with %q, %v; want nothing", rest, err)
	}
}

// diary keeps what was logged.
type diary struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (d *diary) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.Write(p)
}

func (d *diary) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.b.String()
}

// steered is the handler of the comparison, without its notes.
func steered(w http.ResponseWriter, r *http.Request) { newSeen(r).handle(w, r) }

// want reports an error unless an answer is as wanted.
func want(t *testing.T, a answer, status int, body string, closes bool) {
	t.Helper()
	if a.Status != status || a.Body != body || a.Close != closes {
		t.Errorf("the answer is %d %.40q, close: %v; want %d %q, close: %v", a.Status, a.Body, a.Close, status, strings.TrimSpace(body), closes)
	}
}
