//go:build linux || darwin

package local

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// machineClocks reads the boot clock. Where the system or a sandbox denies that,
// the reading has only the wall clock.
func machineClocks() (Reading, time.Duration) {
	var boot, awake unix.Timespec
	err := errors.Join(unix.ClockGettime(bootClock, &boot), unix.ClockGettime(awakeClock, &awake))
	r := Reading{Wall: time.Now().UnixNano()}
	if err != nil {
		return r, 0
	}
	r.BootID, r.TimeNamespace = bootIdentity()
	r.Boot = time.Duration(boot.Nano())
	return r, time.Duration(awake.Nano())
}
