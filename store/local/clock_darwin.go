package local

import (
	"errors"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// machineClocks reads the continuous clock, which goes on during sleep.
func machineClocks() (Reading, time.Duration) {
	var boot, awake unix.Timespec
	err := errors.Join(unix.ClockGettime(unix.CLOCK_MONOTONIC_RAW, &boot), unix.ClockGettime(unix.CLOCK_UPTIME_RAW, &awake))
	r := Reading{Wall: time.Now().UnixNano()}
	if err != nil {
		return r, 0
	}
	r.BootID = bootSession()
	r.Boot = time.Duration(boot.Nano())
	return r, time.Duration(awake.Nano())
}

var bootSession = sync.OnceValue(func() string {
	id, _ := unix.Sysctl("kern.bootsessionuuid") // empty: nothing to go on from
	return id
})
