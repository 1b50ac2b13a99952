//go:build !unix

package machine_test

import "time"

var processStart = time.Now()

// processorTime is the time that has passed: here nothing better is at hand.
func processorTime() time.Duration { return time.Since(processStart) }
