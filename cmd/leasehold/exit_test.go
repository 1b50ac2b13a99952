package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/sqlite"
)

// Scripts depend on these: a change here is a breaking one.
func TestExitCodes(t *testing.T) {
	lease := func(op string, r leasehold.Reason) error { return &leasehold.Error{Op: op, Reason: r} }
	tests := []struct {
		err  error
		want int
	}{
		{nil, 0},
		{lease("acquire", leasehold.ReasonHeld), 1},
		{lease("acquire", leasehold.ReasonBreaking), 1},
		{lease("acquire", leasehold.ReasonDeadlock), 1},
		{lease("transfer", leasehold.ReasonDeadlock), 1},
		{lease("acquire", leasehold.ReasonReleased), 1},
		{lease("renew", leasehold.ReasonBreaking), 1},
		{lease("renew", leasehold.ReasonExpired), 79},
		{lease("renew", leasehold.ReasonNotFound), 79},
		{lease("release", leasehold.ReasonBroken), 79},
		{lease("renew", leasehold.ReasonMaxRenewals), 79},
		{lease("break", leasehold.ReasonNotFound), 66},
		{lease("break", leasehold.ReasonExpired), 66},
		{lease("acquire", leasehold.ReasonTimeout), 75},
		{lease("list", leasehold.ReasonForbidden), 77},
		{lease("list", leasehold.ReasonUnauthenticated), 77},
		{lease("renew", leasehold.ReasonHolderMismatch), 77},
		{lease("acquire", leasehold.ReasonInvalid), 64},
		{lease("break", leasehold.ReasonUnsupported), 76},
		{lease("renew", leasehold.ReasonUnavailable), 69},
		{lease("renew", leasehold.ReasonRateLimited), 69},
		{lease("acquire", leasehold.ReasonTooMany), 69},
		{lease("renew", leasehold.ReasonUnknown), 70},
		{&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: sqlite.ErrExists}, 73},
		{&leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: sqlite.ErrInUse}, 69},
		{&leasehold.Error{Reason: leasehold.ReasonInvalid, Cause: sqlite.ErrMissing}, 66},
		{fmt.Errorf("token: %w", auth.ErrNoToken), 66},
		{fmt.Errorf("token: %w", auth.ErrTokenExists), 1},
		{fmt.Errorf("serve: %w", auth.ErrInsecure), 64},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrNotExist}, 66},
		{&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}, 77},
		{usagef("what?"), 64},
		{&interruption{syscall.SIGINT}, 130},
		{&interruption{syscall.SIGTERM}, 143},
		{errors.New("who knows"), 70},
	}
	for _, tt := range tests {
		if got := codeOf(tt.err); got != tt.want {
			t.Errorf("codeOf(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestEveryExitCodeIsDocumented(t *testing.T) {
	help := exitHelp()
	for _, code := range []int{exitCannotRun, exitNoCommand} { // as shells have them
		if !strings.Contains(help, fmt.Sprintf("\n  %d  ", code)) {
			t.Errorf("exitHelp() does not have %d", code)
		}
	}
	for _, e := range exitCodes {
		if !strings.Contains(help, fmt.Sprintf("\n  %-3d  ", e.code)) {
			t.Errorf("exitHelp() does not have %d, the code of %q", e.code, e.err)
		}
	}
}
