package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/serve"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/wire"
)

// The exit codes. Scripts depend on them: they do not change. Those from 64 on
// follow sysexits.h where it has one, those from 126 on the shells.
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
	exitConfig      = 78
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
	{exitConflict, "held by another, a wait that could never end, or a conflict with what is there"},
	{exitUsage, "the command line or a value is wrong; nothing was done"},
	{exitNotFound, "nothing there: no lease to break, no such token or file"},
	{exitUnavailable, "the store or server is unavailable or unhealthy"},
	{exitInternal, "the outcome is unknown, or something unforeseen happened"},
	{exitExists, "the file to be written exists already"},
	{exitTimeout, "the wait timed out"},
	{exitUnsupported, "this store cannot do that"},
	{exitForbidden, "not allowed"},
	{exitConfig, "init, guard, doctor: a hook is missing, broken or does not block, or a file was changed by something else"},
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

// exitCodes maps errors to exit codes. The first that matches counts: a file that
// exists already is also an unavailable store, and one that does not an invalid
// argument.
var exitCodes = []struct {
	err  error
	code int
}{
	{sqlite.ErrExists, exitExists},
	{sqlite.ErrMissing, exitNotFound},
	{auth.ErrNoToken, exitNotFound},
	{auth.ErrTokenExists, exitConflict},
	{auth.ErrInsecure, exitUsage},
	{serve.ErrOptions, exitUsage},
	{serve.ErrListen, exitUnavailable},

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

// exitError is an error with an exit code of its own. Without a message nothing
// is printed: the answer says it all.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

// usagef is an error in the command line.
func usagef(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// exitIf fails with a code and without a message.
func exitIf(fail bool, code int) error {
	if fail {
		return &exitError{code: code}
	}
	return nil
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

// isGone reports whether the lease has ended.
func isGone(e *leasehold.Error) bool {
	return errors.Is(e, leasehold.ErrLost) || errors.Is(e, leasehold.ErrNotFound)
}

// report prints why the command failed and what to do next.
func (a *app) report(err error) {
	if err == nil || err.Error() == "" {
		return
	}
	if a.json {
		_ = json.NewEncoder(a.err).Encode(problemOf(err))
		return
	}
	fmt.Fprintf(a.err, "leasehold: %s\n", strings.TrimSpace(err.Error()))
	if hint := a.hint(err); hint != "" {
		fmt.Fprintf(a.err, "  → %s\n", hint)
	}
}

// problemOf returns the error as the API would send it. Errors of the program
// itself have codes of their own.
func problemOf(err error) wire.Problem {
	if e := (*leasehold.Error)(nil); errors.As(err, &e) {
		p := wire.FromError(e)
		p.Detail = err.Error()
		return p
	}
	code := "failed"
	if codeOf(err) == exitUsage {
		code = "usage"
	}
	return wire.Problem{Type: "about:blank", Title: "Command failed", Code: code, Detail: err.Error()}
}

// adviser is an error that knows the next step itself.
type adviser interface {
	error
	advice() string
}

const stopFirst = "stop it first, and run this again"

// adviseFile gives the next step to a command that opens the server's database file
// by itself, whatever --store says: where a process has the file, and where it is missing.
func adviseFile(err error, inUse, missing string) error {
	switch {
	case errors.Is(err, sqlite.ErrInUse) && !namesMode(err):
		return &advised{err, inUse}
	case errors.Is(err, sqlite.ErrMissing) && missing != "":
		return &advised{err, missing}
	}
	return err
}

// namesMode reports whether the error of a file in use says itself what to do.
func namesMode(err error) bool { return strings.Contains(err.Error(), "?mode=shared") }

// hint returns the next step in the words of the command line; the error itself
// speaks of leases only.
func (a *app) hint(err error) string {
	if own := adviser(nil); errors.As(err, &own) {
		return own.advice()
	}
	e := (*leasehold.Error)(nil)
	if !errors.As(err, &e) {
		return ""
	}
	noServer := e.Reason == leasehold.ReasonUnavailable && e.Store == "remote"
	switch reason := e.Reason; {
	case errors.Is(err, sqlite.ErrExists) && e.Op == "restore":
		return "--replace puts the backup in its place"
	case errors.Is(err, sqlite.ErrMissing):
		return "--store names the store; leasehold acquire and leasehold run make it"
	case errors.Is(err, sqlite.ErrInUse) && !namesMode(err):
		return "give --store the address of the server that has the file"
	case reason == leasehold.ReasonDeadlock:
		return deadlockHint("leasehold acquire A B …")
	case reason == leasehold.ReasonHeld && e.Op == "acquire" && len(open.Lacks(a.url(), powers.Waiting)) > 0:
		return "leasehold run -w 60 … tries again for 60 s"
	case reason == leasehold.ReasonHeld && e.Op == "acquire":
		return narrowHint(e) + "leasehold acquire --wait 60 … waits in line" + statusHint(e)
	case reason == leasehold.ReasonUnauthenticated && !a.storeIsServer():
		return secretHint
	case reason == leasehold.ReasonInvalid && strings.Contains(e.Problem, "Options.Secret"):
		return secretHint + ", which is Options.Secret to the library"
	case reason == leasehold.ReasonInvalid && e.Op == "set" && e.Field == "key":
		return "leasehold config list shows them"
	case reason == leasehold.ReasonForbidden && e.Field == "" && a.storeIsServer():
		return "the token lacks the role, or its --holders and --resources do not cover the name; leasehold token list shows them"
	case reason == leasehold.ReasonUnauthenticated:
		return "give --token-file or set LEASEHOLD_AUTH_TOKEN; leasehold token new makes a token"
	case noServer && a.url() == defaultStore:
		return "is a server running? leasehold serve starts one; --store names another"
	case noServer:
		return "is a server running there? --store names another"
	}
	return ""
}

const secretHint = "the store's password, key or connection string is taken from $" + secretVariable

// deadlockHint is the way out of a cycle of waiting holders.
func deadlockHint(together string) string {
	return "release what you hold and begin again; " + together + " acquires all of it in one step, which cannot wait in a cycle"
}

// narrowHint says what to leave out of a pattern that overlaps with another's.
func narrowHint(e *leasehold.Error) string {
	if e.Overlap == nil || e.Overlap.Requested.Namespace == "" || e.Overlap.Requested.Pattern == e.Overlap.Part {
		return ""
	}
	return "claim less, without " + quote(e.Overlap.Part) + ", or wait: "
}

// statusHint names the command that shows what is in the way.
func statusHint(e *leasehold.Error) string {
	switch {
	case e.Resource != "":
		return "; leasehold status " + quote(e.Resource) + " shows the queue"
	case e.Current != nil && e.Current.Resource != "":
		return "; leasehold status " + quote(e.Current.Resource) + " shows what is in the way"
	}
	return ""
}

// interruption is the signal that ended a command.
type interruption struct{ signal os.Signal }

func (i *interruption) Error() string { return "ended by " + i.signal.String() }

// code returns what shells have for a program that a signal ended.
func (i *interruption) code() int {
	if n, ok := i.signal.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitInternal
}

// interruptible returns a context that the first SIGINT, SIGTERM or SIGHUP ends,
// with an *interruption as its cause. The second ends the process at once. A
// SIGHUP that was ignored when the program started, as under nohup, stays ignored.
func interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals) // first: from now on a signal ends the process
			cancel(&interruption{s})
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() { cancel(nil) }
}

// interruptionOr returns the signal that ended ctx and so caused err, else err.
func interruptionOr(ctx context.Context, err error) error {
	var i *interruption
	if err != nil && errors.As(context.Cause(ctx), &i) {
		return i
	}
	return err
}
