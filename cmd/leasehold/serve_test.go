package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// startServe runs a server in this process and returns its address.
func startServe(t *testing.T, flags ...string) string {
	t.Helper()
	out, in := io.Pipe()
	a := &app{in: strings.NewReader(""), out: in, err: t.Output()}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan int)
	go func() {
		defer in.Close()
		done <- a.run(ctx, append([]string{"serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--blob-listen", "off"}, flags...))
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != exitOK {
			t.Errorf("serve = %d, want 0", code)
		}
	})
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("serve wrote nothing: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // the other APIs, if there are any
	return strings.TrimPrefix(process.ServerURL(line), "http://")
}

func TestServeRefusesHugeHeaders(t *testing.T) {
	const hugeHeader = 64 << 10
	address := startServe(t)
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Huge", strings.Repeat("x", hugeHeader))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes = %s, want 431", hugeHeader, answer.Status)
	}
}

// With as many connections as allowed the next one waits, and is served when one
// ends.
func TestServeLimitsConnections(t *testing.T) {
	address := startServe(t, "--max-connections", "2")
	var idle []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	healthy := make(chan error, 1)
	go func() {
		answer, err := client.Get("http://" + address + "/healthz")
		if err == nil {
			answer.Body.Close()
		}
		healthy <- err
	}()
	select {
	case err := <-healthy:
		t.Fatalf("a third connection was served (%v), want two at a time", err)
	case <-time.After(100 * time.Millisecond): // no event says that nothing happens
	}
	idle[0].Close()
	if err := <-healthy; err != nil {
		t.Errorf("the third connection after one was closed: %v", err)
	}
}
