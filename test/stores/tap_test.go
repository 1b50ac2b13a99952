package stores_test

import (
	"bytes"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// tap stands between clients and a server without TLS, and sees what the clients
// send.
type tap struct {
	addr   string
	masked bool // the clients' frames are masked, and nothing can be found in them
	mu     sync.Mutex
	sent   []*bytes.Buffer // one for each connection
}

func startTap(t *testing.T, upstream string) *tap {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{addr: listener.Addr().String()}
	var all sync.WaitGroup
	var conns sync.Map
	t.Cleanup(func() {
		listener.Close()
		conns.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				client.Close()
				continue
			}
			conns.Store(client, nil)
			conns.Store(server, nil)
			all.Go(func() { copyAll(p.record(server), client, server) })
			all.Go(func() { copyAll(client, server, client) })
		}
	})
	return p
}

// copyAll copies until one of the two ends, and then ends the other.
func copyAll(to io.Writer, from net.Conn, other net.Conn) {
	_, _ = io.Copy(to, from)
	from.Close()
	other.Close()
}

// record returns a writer to the server that keeps what is written.
func (p *tap) record(server net.Conn) io.Writer {
	p.mu.Lock()
	defer p.mu.Unlock()
	sent := &bytes.Buffer{}
	p.sent = append(p.sent, sent)
	return io.MultiWriter(lockedWriter{&p.mu, sent}, server)
}

type lockedWriter struct {
	mu *sync.Mutex
	to io.Writer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}

// mentions is how often clients have sent a text.
func (p *tap) mentions(text string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sent := range p.sent {
		n += bytes.Count(sent.Bytes(), []byte(text))
	}
	return n
}

// quiet reports whether no client sends the text within the time.
func (p *tap) quiet(text string, within time.Duration) bool {
	before := p.mentions(text)
	time.Sleep(within)
	return p.mentions(text) == before
}
