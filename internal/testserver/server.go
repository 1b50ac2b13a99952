package testserver

import (
	"bytes"
	"fmt"
	"os/exec"
	"sync"
	"time"
)

// Timeout is how long a server may need until it answers.
const Timeout = 60 * time.Second

// Server is a server that runs. Its methods are not for concurrent use.
type Server struct {
	// Addr is HOST:PORT, which stays the same over Kill and Start.
	Addr string

	t       T
	command func() *exec.Cmd
	answers func(addr string) error
	again   func(output string) bool // after Kill: the data was still in use; nil: never

	cmd    *exec.Cmd
	output *logBuffer
	done   chan struct{} // closed when the process has ended
}

// start runs a server on a free port. Another process may get the port first, so
// it tries more than once.
func start(t T, command func(port int) *exec.Cmd, answers func(addr string) error) *Server {
	t.Helper()
	var err error
	for range 5 {
		port := FreePort(t)
		s := &Server{t: t, Addr: loopback(port), answers: answers, command: func() *exec.Cmd { return command(port) }}
		if err = s.start(); err == nil {
			t.Cleanup(s.Kill)
			return s
		}
	}
	t.Fatalf("%v", err)
	return nil
}

// Start starts the server again after Kill, on the same port and data.
func (s *Server) Start() {
	s.t.Helper()
	err := s.start()
	for deadline := time.Now().Add(Timeout); err != nil && s.again != nil && s.again(s.Output()) && time.Now().Before(deadline); err = s.start() {
		time.Sleep(20 * time.Millisecond) // no event says when it is free
	}
	if err != nil {
		s.t.Fatalf("%v", err)
	}
}

// Restart is Kill and Start.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.Start()
}

// Kill ends the server at once, as kill -9 does. A server that is dead stays so.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.done
}

// Pid is the process id of the server.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Output is what the server has printed since it was started.
func (s *Server) Output() string { return s.output.String() }

func (s *Server) start() error {
	s.cmd, s.output, s.done = s.command(), &logBuffer{}, make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = s.output, s.output
	endWithParent(s.cmd)
	if err := s.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.cmd.Path, err)
	}
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait()
		close(done)
	}(s.cmd, s.done)
	if err := s.await(); err != nil {
		s.Kill()
		return fmt.Errorf("%q does not answer: %w; it printed %.4000q", s.cmd.Args, err, s.Output())
	}
	return nil
}

// await returns when the server answers, has ended, or is too slow.
func (s *Server) await() error {
	for deadline := time.Now().Add(Timeout); ; {
		err := s.answers(s.Addr)
		select {
		case <-s.done: // then somebody else has answered
			return fmt.Errorf("it ended: %v", s.cmd.ProcessState)
		default:
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(10 * time.Millisecond) // no event says how far another process is
	}
}

// logBuffer keeps the first part of what a process prints.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	const most = 1 << 20
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.text.Len() < most {
		b.text.Write(p)
	}
	return len(p), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
