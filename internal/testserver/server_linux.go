package testserver

import (
	"os/exec"
	"syscall"
)

// endWithParent ends the server also when the tests are killed or time out.
func endWithParent(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
