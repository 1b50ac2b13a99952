package leasehold

import (
	"syscall"
	"time"
	"unsafe"
)

// The clocks of clock_gettime(2). Only the second one runs while the machine
// is suspended; otherwise they run alike, whatever happens to the wall clock.
const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// systemOffset picks the wall clock where the kernel, or a sandbox around it,
// refuses to read boot time.
func systemOffset() func() time.Duration {
	if _, ok := readClock(clockBoottime); ok {
		return bootOffset
	}
	return wallOffset
}

// bootOffset is the time that the machine has been suspended since it booted.
func bootOffset() time.Duration {
	awake, _ := readClock(clockMonotonic)
	all, _ := readClock(clockBoottime)
	return all - awake
}

func readClock(id uintptr) (time.Duration, bool) {
	var ts syscall.Timespec
	_, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0)
	return time.Duration(ts.Nano()), errno == 0
}
