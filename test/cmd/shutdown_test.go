//go:build unix

package cmd_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold/test/process"
)

// A request that does not end delays a shutdown for a while. A second signal ends
// the server at once.
func TestServeEndsAtOnceAfterASecondSignal(t *testing.T) {
	server := binary(t, "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--blob-listen", "off")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", strings.TrimPrefix(process.ServerURL(line), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	half := "POST /v1/leases/cleanup HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
	if _, err := io.WriteString(c, half); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(c).ReadString('\n'); err != nil { // 100 Continue: the handler has begun to read
		t.Fatal(err)
	}
	server.Process.Signal(syscall.SIGTERM)
	for lines := bufio.NewScanner(log); lines.Scan() && !strings.Contains(lines.Text(), "shutting down"); {
	}
	server.Process.Signal(syscall.SIGTERM)
	err = server.Wait()
	if e := (*exec.ExitError)(nil); !errors.As(err, &e) || e.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("the server ended with %v, want the second SIGTERM to end it", err)
	}
}
