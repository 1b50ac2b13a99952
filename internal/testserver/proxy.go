package testserver

import (
	"context"
	"fmt"
	"strings"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"
)

// Network is a TCP connection to a server that can be cut, slowed down and reset.
// Its methods are not for concurrent use.
type Network struct {
	// Addr is HOST:PORT for clients, which stays the same over Cut and Heal.
	Addr string

	t     T
	proxy *toxiproxy.Proxy
}

// Proxy starts a toxiproxy in front of the server at the address.
func Proxy(t T, upstream string) *Network {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	n := &Network{t: t, proxy: toxiproxy.NewProxy(server, "test", "127.0.0.1:0", upstream)}
	if err := n.proxy.Start(); err != nil {
		t.Fatalf("toxiproxy: %v", err)
	}
	n.Addr = n.proxy.Listen
	t.Cleanup(n.proxy.Stop)
	return n
}

// Leaks are the goroutines that the proxy forgets when it is healed or stopped while data
// passes.
func Leaks() []goleak.Option {
	return []goleak.Option{
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe"),
		goleak.IgnoreAnyFunction("github.com/Shopify/toxiproxy/v2/stream.(*ChanWriter).Write"),
	}
}

// Cut closes every connection and refuses new ones, until Heal.
func (n *Network) Cut() { n.proxy.Stop() }

// Delay holds back each answer by d, give or take jitter.
func (n *Network) Delay(d, jitter time.Duration) {
	n.t.Helper()
	n.add("latency", "downstream", fmt.Sprintf(`"latency":%d,"jitter":%d`, d.Milliseconds(), jitter.Milliseconds()))
}

// Reset lets requests through and resets the connection at the first byte of the
// answer, so that the outcome of a call is unknown.
func (n *Network) Reset() {
	n.t.Helper()
	n.add("reset_peer", "downstream", `"timeout":0`)
}

// ResetRequests resets the connection at the first byte of a request, which the
// server never sees.
func (n *Network) ResetRequests() {
	n.t.Helper()
	n.add("reset_peer", "upstream", `"timeout":0`)
}

// Swallow lets requests through and drops the answers: calls hang.
func (n *Network) Swallow() {
	n.t.Helper()
	n.add("timeout", "downstream", `"timeout":0`)
}

// Heal undoes Cut, Delay, Reset, ResetRequests and Swallow. A connection that was
// broken stays so.
func (n *Network) Heal() {
	n.t.Helper()
	n.proxy.Toxics.ResetToxics(context.Background())
	if err := n.proxy.Start(); err != nil && err != toxiproxy.ErrProxyAlreadyStarted {
		n.t.Fatalf("toxiproxy: %v", err)
	}
}

func (n *Network) add(kind, direction, attributes string) {
	n.t.Helper()
	toxic := fmt.Sprintf(`{"name":%q,"type":%q,"stream":%q,"attributes":{%s}}`, kind+"-"+direction, kind, direction, attributes)
	if _, err := n.proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		n.t.Fatalf("toxiproxy: %s: %v", toxic, err)
	}
}
