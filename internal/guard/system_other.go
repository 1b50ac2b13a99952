//go:build unix && !linux

package guard

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// clockID goes on during sleep on macOS and the BSDs, or no clock does.
const clockID = unix.CLOCK_MONOTONIC

func adopt() {}

func dieWithParent(*syscall.SysProcAttr) {}

func program() (string, error) { return os.Executable() }

func rename(string) {}

// membersOf returns none: only another program could list them.
func membersOf(group) []member { return nil }
