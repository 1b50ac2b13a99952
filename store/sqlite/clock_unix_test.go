//go:build linux || darwin

package sqlite

import (
	"testing"
	"time"
)

// TestDowntimeCounts reads the machine's own clocks, and makes the file older
// instead of waiting.
func TestDowntimeCounts(t *testing.T) {
	const hour = "3600000000000"
	for name, c := range map[string]struct {
		change string
		want   time.Duration
	}{
		"right away":        {"", 0},
		"an hour later":     {"boot_clock = boot_clock - " + hour + ", wall_clock = wall_clock - " + hour, time.Hour},
		"wall clock ahead":  {"wall_clock = wall_clock - " + hour, 0},
		"wall clock back":   {"boot_clock = boot_clock - " + hour + ", wall_clock = wall_clock + " + hour, 0},
		"boot clock back":   {"boot_clock = boot_clock + " + hour + ", wall_clock = wall_clock - " + hour, 0},
		"another boot":      {"boot_id = 'x', boot_clock = boot_clock - " + hour + ", wall_clock = wall_clock - " + hour, 0},
		"another namespace": {"time_namespace = 'x', boot_clock = boot_clock - " + hour + ", wall_clock = wall_clock - " + hour, 0},
		"no boot":           {"boot_id = NULL, boot_clock = boot_clock - " + hour + ", wall_clock = wall_clock - " + hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := aged(t, c.change); got < c.want || got > c.want+time.Minute {
				t.Errorf("%v of the lease have passed, want %v", got, c.want)
			}
		})
	}
}
