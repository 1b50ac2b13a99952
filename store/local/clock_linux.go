package local

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// machineClocks reads the boot clock. Where the kernel, or a sandbox around it,
// keeps it from us, the process's monotonic clock has to do.
func machineClocks() (Reading, time.Duration) {
	var boot, awake unix.Timespec
	err := errors.Join(unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot), unix.ClockGettime(unix.CLOCK_MONOTONIC, &awake))
	r := Reading{Wall: time.Now().UnixNano()}
	if err != nil {
		return r, 0
	}
	r.BootID, r.TimeNamespace = bootIdentity()
	r.Boot = time.Duration(boot.Nano())
	return r, time.Duration(awake.Nano())
}

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
