//go:build unix

package serve

import (
	"os"
	"syscall"
)

// tryLock locks the file until this process closes it or ends.
func tryLock(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
