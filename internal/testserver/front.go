package testserver

import (
	"crypto/tls"
	"io"
	"net"
	"sync"
)

// TLSFront returns the HOST:PORT of a TLS end in front of a server that has none.
func TLSFront(t T, addr string, c *Certificate) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", c.Server())
	if err != nil {
		t.Fatalf("no free port: %v", err)
	}
	var served sync.WaitGroup
	var conns sync.Map
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		to.Close()
		from.Close()
	}
	served.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			conns.Store(client, nil)
			conns.Store(server, nil)
			served.Go(func() { pass(server, client) })
			served.Go(func() { pass(client, server) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		conns.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
		served.Wait()
	})
	return listener.Addr().String()
}
