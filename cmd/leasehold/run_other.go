//go:build !unix

package main

import (
	"context"
	"runtime"

	"github.com/leasehold/leasehold"
)

// runUnderLease is not possible here: ending a command in time needs process
// groups and their signals.
func (a *app) runUnderLease(context.Context, runFlags, leasehold.AcquireRequest, []string) error {
	return &exitError{exitUnsupported, "leasehold run needs a POSIX system, and this is " + runtime.GOOS +
		"; put leasehold acquire and release around the command, or use the library"}
}
