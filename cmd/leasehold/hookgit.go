package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/gitguard"
	"github.com/leasehold/leasehold/internal/hook"
	"github.com/leasehold/leasehold/internal/repo"
)

const (
	// guardVariable switches the git guard off.
	guardVariable = "LEASEHOLD_GUARD"

	// guardLimit bounds how long a commit waits for an answer.
	guardLimit = 5 * time.Second

	// gitLimit bounds a hook of git in all: what git writes to it, and git itself, which
	// takes long for the first push of a long history.
	gitLimit = time.Minute

	// gitGrace is how long after the limit it waits for git to be ended, and for an error
	// that says what was late.
	gitGrace = time.Second

	// shownConflicts is how many paths a refusal lists.
	shownConflicts = 20
)

const hookGitHelp = `leasehold hook git -- pre-commit and leasehold hook git -- pre-push REMOTE URL refuse a
commit or a push that touches a path which another holds, with exit code 1. Yours, and
so never in the way, are the leases of $LEASEHOLD_HOLDER, the lease that leasehold
acquire or run has put into the environment, and those of the coding agent's session in
which the commit is made (CLAUDE_CODE_SESSION_ID, CODEX_THREAD_ID,
CURSOR_CONVERSATION_ID), its sub-agents included. LEASEHOLD_GUARD=off lets a commit or
push pass, and says so.`

// gitHook is a hook of git.
func gitHook(c *hookCall) int {
	ctx, stop := interruptible(context.Background())
	defer stop()
	err := interruptionOr(ctx, c.guard(ctx))
	c.report(err)
	return codeOf(err)
}

// guard refuses what others hold. What cannot be checked passes with a warning, unless
// that is refused, too.
func (c *hookCall) guard(ctx context.Context) error {
	if len(c.args) == 0 || gitEvents[c.args[0]] == nil {
		return usagef("there is no hook %q; want %s", strings.Join(c.args, " "), strings.Join(gitguard.Names, " or "))
	}
	if value := os.Getenv(guardVariable); strings.EqualFold(value, "off") {
		fmt.Fprintf(c.err, "leasehold: %s=%s: bypassed, nobody was asked who holds these files\n", guardVariable, value)
		return nil
	}
	err := c.inTime(ctx, func(ctx context.Context) error {
		return c.guardGit(ctx, gitEvents[c.args[0]], c.args[1:])
	})
	switch refused := (*guardError)(nil); {
	case err == nil, errors.As(err, &refused), ctx.Err() != nil:
		return err
	case c.FailClosed:
		return &uncheckedError{err}
	}
	fmt.Fprintf(c.err, "leasehold: warning: nobody was asked who holds these files: %v\n", err)
	return nil
}

var errGitLimit = &exitError{exitUnavailable, "the time of a git hook is over"}

// inTime runs f, and goes on soon after the limit even if f does not end: a read of
// standard input has no context.
func (c *hookCall) inTime(ctx context.Context, f func(context.Context) error) error {
	limit := gitLimit
	if c.Limit != hook.DefaultLimit {
		limit = c.Limit
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errGitLimit)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	late := time.NewTimer(gitGrace)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return context.Cause(ctx)
	}
}

// gitEvent is a hook of git: which paths it is about, and what to do without them.
type gitEvent struct {
	what  string
	paths func(ctx context.Context, a *app, g gitguard.Git, args []string) ([]string, error)
	hint  string
}

var gitEvents = map[string]*gitEvent{
	"pre-commit": {"commit",
		func(ctx context.Context, _ *app, g gitguard.Git, _ []string) ([]string, error) { return g.Staged(ctx) },
		"wait until it is free, or commit without it: git restore --staged -- PATH"},
	"pre-push": {"push",
		func(ctx context.Context, a *app, g gitguard.Git, args []string) ([]string, error) {
			remote := "origin"
			if len(args) > 0 {
				remote = args[0]
			}
			return g.Pushed(ctx, remote, a.in)
		},
		"wait until it is free, and push again"},
}

// guardGit fails with a *guardError if others hold what the commit or push touches.
func (c *hookCall) guardGit(ctx context.Context, event *gitEvent, args []string) error {
	git := gitguard.Git{}
	paths, err := event.paths(ctx, c.app, git, args)
	if err != nil || len(paths) == 0 {
		return err
	}
	root, err := git.Root(ctx)
	if err != nil {
		return err
	}
	found, err := repo.Find(root)
	if err != nil {
		return err
	}
	if found == nil {
		return gitguard.ErrNoRepository
	}
	limit := guardLimit
	if c.Limit != hook.DefaultLimit {
		limit = c.Limit
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	store, err := c.openBare(ctx, "leasehold hook")
	if err != nil {
		return err
	}
	defer store.Close()
	lister, err := power[leasehold.Lister](store, "list")
	if err != nil {
		return err
	}
	conflicts, err := gitguard.Check(ctx, lister, found.Identity, paths, gitguard.EnvironmentOwner(os.Getenv))
	if err != nil || len(conflicts) == 0 {
		return err
	}
	return &guardError{event, conflicts}
}

// guardError is a commit or push of what others hold.
type guardError struct {
	event     *gitEvent
	conflicts []gitguard.Conflict
}

// Is makes it a conflict for exit codes and in JSON.
func (e *guardError) Is(target error) bool { return target == leasehold.ErrHeld }

func (e *guardError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "this %s touches what others hold:", e.event.what)
	for i, c := range e.conflicts {
		if i == shownConflicts {
			fmt.Fprintf(&b, "\n  and %d more", len(e.conflicts)-i)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %s", visiblePath(c.Path), heldText(c))
	}
	return b.String()
}

// heldText says who holds a path, by which pattern, for how long and what for.
func heldText(c gitguard.Conflict) string {
	text := "held by " + c.Lease.Holder
	if c.Pattern != c.Path {
		text += " as " + visiblePath(c.Pattern)
	}
	if c.Lease.Remaining == leasehold.Infinite {
		text += ", without an end"
	} else {
		text += ", for another " + span(c.Lease.Remaining)
	}
	if task := c.Lease.Metadata["task"]; task != "" {
		text += ", task: " + visible(task)
	}
	return text
}

// visiblePath quotes a name that would disturb a terminal or look like two.
func visiblePath(path string) string {
	if visible(path) != path {
		return fmt.Sprintf("%q", path)
	}
	return path
}

// advice is what to do next.
func (e *guardError) advice() string {
	first := e.conflicts[0].Lease
	return fmt.Sprintf("%s\n  → leasehold status %s shows who waits; leasehold release or the end of the holder's session frees it\n"+
		"  → if the lease is yours, set LEASEHOLD_HOLDER=%s; %s=off lets this %s pass",
		e.event.hint, quote(first.Resource), quote(first.Holder), guardVariable, e.event.what)
}

// uncheckedError is a commit or push that could not be checked, and must be.
type uncheckedError struct{ cause error }

func (e *uncheckedError) Unwrap() error { return e.cause }

func (e *uncheckedError) Error() string {
	return fmt.Sprintf("refused, because nobody can be asked who holds these files (--fail-closed): %v", e.cause)
}

func (e *uncheckedError) advice() string {
	return "start the server, or name it with LEASEHOLD_STORE; " + guardVariable + "=off lets this one pass"
}
