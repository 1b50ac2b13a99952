//go:build unix && !linux

package azuretest

import (
	"fmt"
	"os/exec"
)

// dieWithMe cannot be asked for here: who kills the tests leaves servers behind.
func dieWithMe(*exec.Cmd) {}

// memory returns how much memory the server has now. Nobody remembers the peak
// here.
func (s *server) memory() (now, peak int64) {
	s.Helper()
	out, err := exec.Command("ps", "-o", "rss=", "-p", fmt.Sprint(s.cmd.Process.Pid)).Output()
	if err != nil {
		s.Fatalf("ps: %v", err)
	}
	if _, err := fmt.Sscan(string(out), &now); err != nil {
		s.Fatalf("ps said %q: %v", out, err)
	}
	return now << 10, now << 10
}
