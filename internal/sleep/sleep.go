// Package sleep waits for a time that the end of a context cuts short.
package sleep

import (
	"context"
	"time"
)

// For waits, and reports whether ctx has not ended before.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
