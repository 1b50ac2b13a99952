package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/wire"
)

// report tells the user why the command failed and what to do next.
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

// problemOf is the error as the API would have sent it. What only happens on
// this side of the wire has codes of its own.
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

// adviser is an error that knows the next step better than its reason tells.
type adviser interface {
	error
	advice() string
}

// hint is the next step in the words of the command line; the error itself
// speaks of leases only.
func (a *app) hint(err error) string {
	if own := adviser(nil); errors.As(err, &own) {
		return own.advice()
	}
	e := (*leasehold.Error)(nil)
	if !errors.As(err, &e) {
		return ""
	}
	lost := e.Reason == leasehold.ReasonUnavailable && e.Store == "remote"
	switch reason := e.Reason; {
	case errors.Is(err, sqlite.ErrExists) && e.Op == "restore":
		return "--replace puts the backup in its place"
	case errors.Is(err, sqlite.ErrMissing):
		return "--store names the store; leasehold acquire and leasehold run make it"
	case errors.Is(err, sqlite.ErrInUse):
		return "give --store the address of the server that has the file"
	case reason == leasehold.ReasonHeld && e.Op == "acquire":
		return fmt.Sprintf("leasehold acquire --wait 60 … waits in line; leasehold status %s shows the queue", quote(e.Resource))
	case reason == leasehold.ReasonUnauthenticated:
		return "give --token-file or set LEASEHOLD_AUTH_TOKEN; leasehold token new makes a token"
	case lost && a.url() == defaultStore:
		return "is a server running? leasehold serve starts one; --store names another"
	case lost:
		return "is a server running there? --store names another"
	}
	return ""
}
