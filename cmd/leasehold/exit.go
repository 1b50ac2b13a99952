package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/sqlite"
)

// The exit codes. Scripts depend on them: they do not change. Those from 64 on
// are where sysexits.h has them, as far as it has them, and those from 126 on
// where shells have them.
const (
	exitOK          = 0
	exitConflict    = 1
	exitUsage       = 64
	exitNotFound    = 66
	exitUnavailable = 69
	exitInternal    = 70
	exitExists      = 73
	exitTimeout     = 75
	exitUnsupported = 76
	exitForbidden   = 77
	exitLost        = 79
	exitCannotRun   = 126
	exitNoCommand   = 127
	exitSignal      = 128 // plus the signal's number
)

// exitMeanings is the table of the help.
var exitMeanings = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitConflict, "held by another, or a conflict with what is there"},
	{exitUsage, "the command line or a value is wrong; nothing was done"},
	{exitNotFound, "nothing there: no lease to break, no such token or file"},
	{exitUnavailable, "the store or server is unavailable or unhealthy"},
	{exitInternal, "the outcome is unknown, or something unforeseen happened"},
	{exitExists, "the file to be written exists already"},
	{exitTimeout, "the wait timed out"},
	{exitUnsupported, "this store cannot do that"},
	{exitForbidden, "not allowed"},
	{exitLost, "the lease is lost: expired, released, broken, unknown, or renewed too often"},
	{exitCannotRun, "run: the command cannot be run"},
	{exitNoCommand, "run: the command is not there"},
}

func exitHelp() string {
	var b strings.Builder
	b.WriteString("Exit codes:\n\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "  %-3d  %s\n", e.code, e.meaning)
	}
	fmt.Fprintf(&b, "  %d+n ended by signal n\n", exitSignal)
	return b.String()
}

// exitCodes maps errors to exit codes. The first that matches counts: a file
// that exists already comes as an unavailable store, and one that does not as an invalid argument.
var exitCodes = []struct {
	err  error
	code int
}{
	{sqlite.ErrExists, exitExists},
	{sqlite.ErrMissing, exitNotFound},
	{auth.ErrNoToken, exitNotFound},
	{auth.ErrTokenExists, exitConflict},
	{auth.ErrInsecure, exitUsage},

	{leasehold.ErrHeld, exitConflict},
	{leasehold.ErrLost, exitLost},
	{leasehold.ErrNotFound, exitLost}, // an ended lease is forgotten at the next grant
	{leasehold.ErrForbidden, exitForbidden},
	{leasehold.ErrInvalid, exitUsage},
	{leasehold.ErrUnsupported, exitUnsupported},
	{leasehold.ErrTimeout, exitTimeout},
	{leasehold.ErrUnavailable, exitUnavailable},
	{leasehold.ErrUnknown, exitInternal},

	{fs.ErrNotExist, exitNotFound},
	{fs.ErrPermission, exitForbidden},
}

// exitError gives an error a code of its own. Without a message nothing is
// printed: the answer has said it all.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

// usagef is an error in the command line.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// asUsage blames what the command line names: a file, an address.
func asUsage(err error) error {
	if err == nil {
		return nil
	}
	return usagef("%v", err)
}

// codeOf returns the exit code of a command that ended with err.
func codeOf(err error) int {
	var own *exitError
	var ended *interruption
	var e *leasehold.Error
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &own):
		return own.code
	case errors.As(err, &ended):
		return ended.code()
	case errors.As(err, &e) && isGone(e) && e.Op == "acquire":
		return exitConflict // the proposed id was somebody's before
	case errors.As(err, &e) && isGone(e) && e.Op == "break":
		return exitNotFound
	}
	for _, e := range exitCodes {
		if errors.Is(err, e.err) {
			return e.code
		}
	}
	return exitInternal
}

// isGone reports whether the lease that was meant is no more.
func isGone(e *leasehold.Error) bool {
	return errors.Is(e, leasehold.ErrLost) || errors.Is(e, leasehold.ErrNotFound)
}
