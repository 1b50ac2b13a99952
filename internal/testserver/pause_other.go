//go:build !unix

package testserver

// Pause needs a system that can stop processes.
func (s *Server) Pause() { s.t.Skipf("this system cannot stop a process") }

// Resume lets it go on.
func (s *Server) Resume() {}
