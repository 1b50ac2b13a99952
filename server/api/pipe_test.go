package api

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

func queryEscape(s string) string { return url.QueryEscape(s) }

// pipes is a listener without a network, so that it works in a bubble.
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

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "pipe"} }

func (p *pipes) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- server:
		return client, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// listen serves the door on pipes until the test ends, and returns a client.
func (d *door) listen() (*pipes, *http.Client) {
	d.Helper()
	l := newPipes()
	server := &http.Server{Handler: d}
	served := make(chan error)
	go func() { served <- server.Serve(l) }()
	transport := &http.Transport{DialContext: l.Dial}
	d.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			d.Errorf("Serve = %v", err)
		}
	})
	return l, &http.Client{Transport: transport}
}

func newRequest(t *testing.T, ctx context.Context, method, path, body string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, "http://leasehold"+path, bodyOf(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

func bodyOf(s string) io.Reader {
	if s == "" {
		return nil
	}
	return strings.NewReader(s)
}
