package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// clockID goes on while the machine sleeps.
const clockID = unix.CLOCK_BOOTTIME

// adopt makes this process the parent of orphans among its descendants, so that
// a group's last member can be seen to end. Elsewhere, init has to do.
func adopt() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // older kernels: init
}

// dieWithParent has the kernel kill the process when the thread that started it
// ends, which must therefore be one that lasts.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// program is the file of this program, even if another has taken its name since.
func program() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self, nil
	}
	return os.Executable()
}

// rename tells ps and top what this process is for.
func rename(name string) { _ = os.WriteFile("/proc/self/comm", []byte(name), 0) }
