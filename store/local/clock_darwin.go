package local

import (
	"sync"

	"golang.org/x/sys/unix"
)

const (
	bootClock  = unix.CLOCK_MONOTONIC_RAW // the continuous clock, which goes on during sleep
	awakeClock = unix.CLOCK_UPTIME_RAW
)

var bootIdentity = sync.OnceValues(func() (bootID, namespace string) {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // empty: the next process cannot compare
	return id, ""
})
