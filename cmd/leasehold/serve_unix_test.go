//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// A request that does not end holds a shutdown up for a while. Whoever asks
// twice does not want to wait.
func TestServeEndsAtOnceAfterASecondSignal(t *testing.T) {
	path, err := exec.LookPath("leasehold")
	if err != nil {
		t.Fatal(err)
	}
	server := exec.Command(path, "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--blob-listen", "off")
	server.Env = append(os.Environ(), "GORACE="+noRaceNap)
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
	c, err := net.Dial("tcp", strings.TrimPrefix(jsonDoor(line), "http://"))
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
