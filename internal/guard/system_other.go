//go:build unix && !linux

package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// clockID: on macOS and the BSDs this one goes on during sleep, or there is none
// that does.
const clockID = unix.CLOCK_MONOTONIC

func adopt() {}

func dieWithParent(*syscall.SysProcAttr) {}

func program() (string, error) { return os.Executable() }

func rename(string) {}

// members: there is no way to list them without another program.
func (g group) members() []member { return nil }
