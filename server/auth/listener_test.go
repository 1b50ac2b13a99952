package auth

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRawRequests speaks to a real open listener as no browser would: what
// counts is what net/http makes of it.
func TestRawRequests(t *testing.T) {
	g, _ := newGuard(t, Options{})
	server := httptest.NewServer(g.Wrap(whoami))
	defer server.Close()
	addr := server.Listener.Addr().String()
	tests := []struct {
		name, request string
		want          int
	}{
		{"plain", "GET / HTTP/1.1\r\nHost: " + addr + "\r\n", 204},
		{"whole URL", "GET http://" + addr + "/ HTTP/1.1\r\nHost: evil.example\r\n", 204}, // the URL counts, as RFC 9112 has it
		{"whole URL of another", "GET http://evil.example/ HTTP/1.1\r\nHost: " + addr + "\r\n", 403},
		{"no Host", "GET / HTTP/1.0\r\n", 403},
		{"no Host in 1.1", "GET / HTTP/1.1\r\n", 400},
		{"two Hosts", "GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n", 400},
		{"rebound", "POST /v1/leases/break HTTP/1.1\r\nHost: evil.example\r\nContent-Type: application/json\r\nContent-Length: 0\r\n", 403},
		{"forwarded name", "GET / HTTP/1.1\r\nHost: evil.example\r\nX-Forwarded-Host: localhost\r\n", 403},
		{"form", "POST /v1/leases/break HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}", 415},
		{"folded origins", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\norigin: null\r\nContent-Length: 0\r\n", 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
			fmt.Fprintf(conn, "%s\r\n", tt.request)
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("no answer: %v", err)
			}
			answer.Body.Close()
			if answer.StatusCode != tt.want {
				t.Errorf("%q = %d, want %d", strings.SplitN(tt.request, "\r\n", 2)[0], answer.StatusCode, tt.want)
			}
		})
	}
}

// TestReloadUnderLoad replaces tokens while many callers use them: the one that
// stays is never refused, and those that go are refused for good.
func TestReloadUnderLoad(t *testing.T) {
	path := tokenPath(t)
	kept := mustCreate(t, path, TokenSpec{Name: "kept", Roles: reader})
	g, _ := newGuard(t, Options{TokenFile: path, Rate: -1})
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for ctx.Err() == nil {
				wantCaller(t, g, request("GET", "/", bearerHeader(kept)), "kept")
			}
		})
	}
	for i := range 30 {
		name := fmt.Sprint("t", i)
		secret := mustCreate(t, path, TokenSpec{Name: name, Roles: reader})
		if err := g.Reload(); err != nil {
			t.Fatalf("Reload() = %v", err)
		}
		wantCaller(t, g, request("GET", "/", bearerHeader(secret)), name)
		if err := RevokeToken(path, name); err != nil {
			t.Fatalf("RevokeToken() = %v", err)
		}
		if err := g.Reload(); err != nil {
			t.Fatalf("Reload() = %v", err)
		}
		r := request("GET", "/", bearerHeader(secret))
		r.RemoteAddr = fmt.Sprintf("10.0.0.%d:1", i)
		wantCode(t, g, r, 401, "unauthenticated")
	}
	stop()
	callers.Wait()
}
