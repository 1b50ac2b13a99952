package local

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

const (
	bootClock  = unix.CLOCK_BOOTTIME
	awakeClock = unix.CLOCK_MONOTONIC
)

// bootIdentity says whose clock it is, if that can be known. It does not change
// while a process runs.
var bootIdentity = sync.OnceValues(func() (bootID, namespace string) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", ""
	}
	namespace, err = os.Readlink("/proc/self/ns/time")
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // older kernels have no time namespaces
		return "", ""
	}
	return strings.TrimSpace(string(id)), namespace
})
