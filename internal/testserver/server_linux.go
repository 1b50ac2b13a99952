package testserver

import (
	"os/exec"
	"syscall"
)

// endWithParent ends the server also when the tests are killed or time out.
func endWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
