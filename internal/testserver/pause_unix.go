//go:build unix

package testserver

import "syscall"

// Pause stops the process where it stands, as kill -STOP does: its connections stay
// open and nothing answers, until Resume.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }
