package testserver

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
)

// Peers is the network between the members of a cluster of etcd. Each member sends
// what is for others through a proxy of its own, so that one can be cut off from the
// others while clients still reach it. All of it is on loopback: the addresses by which
// the members know each other exist in these proxies only.
type Peers struct {
	listens map[string]int // the member at an address that others know
	real    []string       // where the members listen

	mu    sync.Mutex
	cut   int // the member that is cut off; -1: none
	flows map[*flow]struct{}
}

// flow is a request under way between two members. Most last for ever.
type flow struct {
	from, to int
	end      context.CancelFunc
}

const nobody = -1

func newPeers(t T) *Peers {
	t.Helper()
	p := &Peers{listens: map[string]int{}, cut: nobody, flows: map[*flow]struct{}{}}
	for i := range clusterSize {
		port := FreePort(t)
		p.real = append(p.real, loopback(port))
		p.listens[p.known(i)] = i
	}
	return p
}

// known is the address by which others know a member: one of those that are for
// documents, since programs send nothing for loopback through a proxy.
func (*Peers) known(i int) string { return fmt.Sprintf("192.0.2.%d:2380", i+1) }

// CutOff cuts a member off from all others, until Heal.
func (p *Peers) CutOff(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = i
	for f := range p.flows {
		if p.between(f.from, f.to) {
			f.end()
		}
	}
}

// Heal lets all members reach each other again.
func (p *Peers) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = nobody
}

// between reports whether the cut is between two members. The lock is held.
func (p *Peers) between(from, to int) bool { return p.cut != nobody && (p.cut == from || p.cut == to) }

// proxy starts the proxy of a member and returns its address.
func (p *Peers) proxy(t T, from int) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	transport := &http.Transport{}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Host = p.real[p.listens[r.In.URL.Host]] },
		FlushInterval: -1, // at once
		Transport:     transport,
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to, ok := p.listens[r.URL.Host]
		f := &flow{from: from, to: to}
		ctx, end := context.WithCancel(r.Context())
		f.end = end
		if !ok || !p.open(f) {
			end()
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer p.close(f)
		forward.ServeHTTP(w, r.WithContext(ctx))
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		transport.CloseIdleConnections()
		<-served
	})
	return listener.Addr().String()
}

func (p *Peers) open(f *flow) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.between(f.from, f.to) {
		return false
	}
	p.flows[f] = struct{}{}
	return true
}

func (p *Peers) close(f *flow) {
	f.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.flows, f)
}
