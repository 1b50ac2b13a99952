//go:build unix

package testchild

import (
	"os"
	"os/signal"
	"syscall"
)

// DropRights makes the process one of a user who may write nothing: rights do not stop
// root.
func DropRights() error {
	if os.Getuid() != 0 {
		return nil
	}
	return syscall.Setuid(65534)
}

// LimitFiles makes writes beyond this size of a file fail, as on a full disk.
func LimitFiles(size uint64) error {
	signal.Ignore(syscall.SIGXFSZ) // they then fail with EFBIG
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(size, limit.Max)
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}
