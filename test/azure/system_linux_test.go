package azuretest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// endWithTest ends the process with the test's, even if that is killed.
func endWithTest(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// memory returns the server's resident memory now, and the peak since its start.
func (s *server) memory() (now, peak int64) {
	s.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		s.Fatal(err)
	}
	for field, value := range map[string]*int64{"VmRSS:": &now, "VmHWM:": &peak} {
		_, rest, _ := strings.Cut(string(text), field)
		if _, err := fmt.Sscan(rest, value); err != nil {
			s.Fatalf("%s has no %s %v", text, field, err)
		}
		*value <<= 10 // kilobytes
	}
	return now, peak
}
