//go:build !linux

package leasehold

import "time"

// systemGap knows nothing better than the wall clock here.
func systemGap() func() time.Duration { return wallGap }
