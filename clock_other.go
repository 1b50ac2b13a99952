//go:build !linux

package leasehold

import "time"

// systemOffset has only the wall clock here.
func systemOffset() func() time.Duration { return wallOffset }
