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
		done <- a.run(ctx, append([]string{"serve", "--store", "memory:", "--listen", "127.0.0.1:0"}, flags...))
	}()
	t.Cleanup(func() {
		stop()
		if code := <-done; code != exitOK {
			t.Errorf("serve = %d, want 0", code)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("serve said nothing: %v", err)
	}
	return strings.TrimSpace(strings.TrimPrefix(line, "JSON API  http://"))
}

func TestServeRefusesHugeHeaders(t *testing.T) {
	address := startServe(t)
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Huge", strings.Repeat("x", 2*maxHeader))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes = %s, want 431", 2*maxHeader, answer.Status)
	}
}

func TestServeCutsSlowHeaders(t *testing.T) {
	t.Parallel() // it takes as long as the limit
	c, err := net.Dial("tcp", startServe(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	begin := time.Now()
	if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(begin.Add(4 * headerTimeout))
	if _, err := io.ReadAll(c); err != nil {
		t.Errorf("half a header was left alone for %v: %v", time.Since(begin), err)
	}
	if took := time.Since(begin); took < headerTimeout/2 {
		t.Errorf("half a header was cut off after %v, want about %v", took, headerTimeout)
	}
}

// With all seats taken the next caller waits, and is served when one goes.
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
	case <-time.After(100 * time.Millisecond): // nothing tells that nothing happens
	}
	idle[0].Close()
	if err := <-healthy; err != nil {
		t.Errorf("the third connection after one was closed: %v", err)
	}
}

func TestServeRefusesRebinding(t *testing.T) {
	address := startServe(t)
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/v1/leases", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a request for evil.example = %s, want a refusal", answer.Status)
	}
}
