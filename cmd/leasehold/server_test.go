package main

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

type serverKey struct{}

// scriptServer is the one server that a script has at a time.
type scriptServer struct {
	cmd    *exec.Cmd
	exited chan error
}

// cmdServer is for scripts:
//
//	server start [FLAGS…]   starts it on a free port and waits until it answers
//	server stop [SIGNAL]    ends it and checks that it went well
//	server kill             ends it without a word
//
// Its log is server.log. LEASEHOLD_STORE then names it, and ADDRESS is its
// host and port.
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(serverKey{}).(*scriptServer)
	if neg || len(args) == 0 {
		ts.Fatalf("usage: server start|stop|kill")
	}
	switch args[0] {
	case "start":
		s.start(ts, args[1:])
	case "stop":
		s.stop(ts, args[1:])
	case "kill":
		s.kill()
	default:
		ts.Fatalf("server %s: want start, stop or kill", args[0])
	}
}

func (s *scriptServer) start(ts *testscript.TestScript, flags []string) {
	path, err := exec.LookPath("leasehold")
	ts.Check(err)
	s.cmd = exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0"}, flags...)...)
	s.cmd.Env = append(os.Environ(), "GORACE="+noRaceNap)
	s.cmd.Dir = ts.Getenv("WORK")
	log, err := os.OpenFile(ts.MkAbs("server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer log.Close()
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	lines, exited := make(chan string, 1), make(chan error, 1)
	s.exited = exited
	go func() {
		for scan := bufio.NewScanner(out); scan.Scan(); {
			select {
			case lines <- scan.Text():
			default: // only the first line is waited for
			}
		}
		exited <- s.cmd.Wait()
	}()
	select {
	case line := <-lines:
		url := jsonDoor(line)
		if url == "" {
			ts.Fatalf("the server said %q, want JSON API and its address", line)
		}
		_, address, _ := strings.Cut(url, "://")
		ts.Setenv("LEASEHOLD_STORE", url)
		ts.Setenv("ADDRESS", address)
	case err := <-exited:
		exited <- err
		ts.Fatalf("the server ended before it answered: %v\n%s", err, ts.ReadFile("server.log"))
	case <-time.After(30 * time.Second):
		ts.Fatalf("the server did not answer")
	}
}

func (s *scriptServer) stop(ts *testscript.TestScript, args []string) {
	signal := syscall.SIGTERM
	if len(args) > 0 && args[0] == "INT" {
		signal = syscall.SIGINT
	}
	ts.Check(s.cmd.Process.Signal(signal))
	select {
	case err := <-s.exited:
		s.cmd = nil
		if err != nil {
			ts.Fatalf("the server ended with %v, want exit code 0\n%s", err, ts.ReadFile("server.log"))
		}
	case <-time.After(20 * time.Second):
		ts.Fatalf("the server did not end after %v", signal)
	}
}

// kill ends the server if it still runs.
func (s *scriptServer) kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	<-s.exited
	s.cmd = nil
}
