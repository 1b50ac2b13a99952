package cmd_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold/test/process"
)

// memory returns a field of /proc/PID/status, in MiB.
func (s *binaryServer) memory(field string) int {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Cmd.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), field+":")
	var kib int
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		s.t.Fatalf("%s has no %s: %v", text, field, err)
	}
	return kib >> 10
}

// Thousands of connections send nothing, half a header or far too much: the server
// uses little memory for them, serves other clients meanwhile, and cuts them off.
func TestFlood(t *testing.T) {
	t.Parallel()
	s := serveBinary(t)
	id := s.acquire("kept", "a", "").at("lease_id")
	before := s.memory("VmRSS")
	const silent, slow, idle, large = 1000, 1000, 1000, 100
	const headerTimeout = 5 * time.Second // the program's
	begin := time.Now()
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for i := range silent + slow + idle {
		c := s.dial()
		open = append(open, c)
		switch {
		case i < silent:
		case i < silent+slow:
			fmt.Fprintf(c, "GET /v1/leases HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		default: // served once, and kept
			fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		}
	}
	var all sync.WaitGroup
	slots := make(chan struct{}, 20) // at a time
	for i := range large {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if got := s.tenMegabytes(i%2 == 0); got != "413" {
				t.Errorf("a body of 10 MB = %s, want 413", got)
			}
		})
	}
	for i := range 50 { // other clients are served all the while
		s.release(s.acquire(fmt.Sprint("r", i), "a", "").at("lease_id"))
	}
	all.Wait()
	// Go keeps some 20 KiB for a connection; bodies that were kept would be a
	// gigabyte.
	peak := s.memory("VmHWM")
	t.Logf("%d connections and %d MB of bodies took %d MiB on top of %d", len(open), 10*large, peak-before, before)
	if peak-before > 160 {
		t.Errorf("the server grew from %d to %d MiB, want at most 160 more", before, peak)
	}
	for i, c := range open[:silent+slow] {
		if _, err := io.Copy(io.Discard, c); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Fatalf("a connection without a request is still open after %v: %v", time.Since(begin), err)
		}
		if took := time.Since(begin); i == silent+slow-1 && took < headerTimeout/2 {
			t.Errorf("half a header was cut off after %v, want about %v", took, headerTimeout)
		}
	}
	s.release(id)
	select {
	case <-s.process.Done:
		t.Errorf("the server has ended: %s", s.process.Stderr())
	default:
	}
}

// tenMegabytes sends a body of that size, announced or in chunks, and returns the
// status.
func (s *binaryServer) tenMegabytes(announced bool) string {
	c, err := net.Dial("tcp", s.address())
	if err != nil {
		return err.Error()
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * process.Timeout))
	body := strings.Repeat("x", 1<<20)
	head := "POST /v1/leases/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	parts := []io.Reader{strings.NewReader(head + "Content-Length: 10485760\r\n\r\n")}
	if !announced {
		parts = []io.Reader{strings.NewReader(head + "Transfer-Encoding: chunked\r\n\r\nA00000\r\n")}
	}
	for range 10 {
		parts = append(parts, strings.NewReader(body))
	}
	return exchange(c, io.MultiReader(parts...))
}
