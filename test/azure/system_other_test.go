//go:build unix && !linux

package azuretest

import (
	"fmt"
	"os/exec"
)

// endWithTest is not possible here: servers survive a killed test.
func endWithTest(*exec.Cmd) {}

// memory returns the server's resident memory now, twice: the peak is unknown
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
