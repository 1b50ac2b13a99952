package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/hook"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const hookHelp = `Called by the hooks of coding agents, with the tool's JSON on standard input: before
an edit it acquires the files, all or none, after it renews them, and at the end of a
session or sub-agent it releases them. A file that another agent holds is refused in
the tool's own form, with who holds it, how long, and what to do instead.

The holder is TOOL:SESSION, or TOOL:SESSION/AGENT for a sub-agent. A file is a path of
its repository, which all clones and work trees share.

If the server cannot be reached within the limit, the edit is allowed, with a warning
that the tool shows; with --fail-closed it is refused. The exit code is 0 or 2, never
1, by which most tools let the edit through in silence.

With git it is the git guard, which leasehold guard install makes git run.

` + hookGitHelp

const hookExample = `  leasehold hook claude      in .claude/settings.json: PreToolUse, PostToolUse, SubagentStop, SessionEnd
  leasehold hook codex       in .codex/hooks.json
  leasehold hook cursor      in .cursor/hooks.json
  leasehold hook git -- pre-commit`

// hookCall is one call of leasehold hook.
type hookCall struct {
	*app
	hook.Options
	args []string // behind the tool's name
}

// hookRunners are what can stand behind leasehold hook. Each returns the exit code.
var hookRunners = map[string]func(*hookCall) int{
	"claude": agentHook("claude"), "codex": agentHook("codex"), "cursor": agentHook("cursor"),
	"git": gitHook,
}

func hookNames() []string {
	var names []string
	for name := range hookRunners {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// newHook is the command for the tree of commands: its help, its completion, and command
// lines with flags before the command. It reads its flags itself; see isHook.
func newHook(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "hook TOOL", GroupID: groupAgents, ValidArgs: hookNames(), DisableFlagParsing: true,
		Short: "Keep coding agents from editing the same file",
		Long:  hookHelp, Example: hookExample,
	}
	cmd.Flags().AddFlagSet(newHookFlags(&hookCall{}))
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if slices.Contains(args, "--help") || slices.Contains(args, "-h") || len(args) == 0 {
			return cmd.Help()
		}
		if code := a.hook(args); code != exitOK {
			return &exitError{code: code} // without a message: all is said
		}
		return nil
	}
	return cmd
}

// isHook says whether the command line is one of the calls that a tool waits for at every
// edit. They need neither the tree of commands nor telemetry.
func isHook(args []string) bool {
	return len(args) > 1 && args[0] == "hook" && hookRunners[args[1]] != nil && !slices.Contains(args, "--help") && !slices.Contains(args, "-h")
}

// hook runs a hook and returns its exit code: never 1, whatever the command line is.
func (a *app) hook(args []string) int {
	c := &hookCall{app: a}
	err := c.parse(args)
	if err == nil {
		run := hookRunners[c.args[0]]
		c.args = c.args[1:]
		return run(c)
	}
	fmt.Fprintln(a.err, "leasehold hook:", err)
	if c.FailClosed || slices.Contains(args, "--fail-closed") { // the flags end at the first that is wrong
		return 2 // the tool refuses the edit
	}
	return exitUsage
}

// parse reads the environment, then the flags, which win.
func (c *hookCall) parse(args []string) error {
	flags := newHookFlags(c)
	err := errors.Join(c.readEnvironment(flags), flags.Parse(args))
	switch c.args = flags.Args(); {
	case err != nil:
		return err
	case flags.Changed("token-file") && c.tokenFile == "":
		return errors.New("--token-file is empty; give it a value, or leave it out")
	case len(c.args) == 0 || hookRunners[c.args[0]] == nil:
		return fmt.Errorf("want the name of a tool: %s", strings.Join(hookNames(), ", "))
	}
	return nil
}

func newHookFlags(c *hookCall) *pflag.FlagSet {
	flags := pflag.NewFlagSet("hook", pflag.ContinueOnError)
	flags.Usage = func() {}
	c.TTL, c.Limit = hook.DefaultTTL, hook.DefaultLimit
	flags.Var(ttlFlag{durationFlag{value: &c.TTL}}, "ttl", "how long a file stays reserved after its last edit ($LEASEHOLD_HOOK_TTL)")
	flags.Var(durationFlag{value: &c.Limit}, "limit", "how long the hook may last in all ($LEASEHOLD_HOOK_LIMIT)")
	flags.BoolVar(&c.FailClosed, "fail-closed", false, "refuse an edit that cannot be checked ($LEASEHOLD_HOOK_FAIL_CLOSED)")
	flags.StringVar(&c.Task, "task", "", "what the agent works on, for others to read ($LEASEHOLD_TASK)")
	if c.app != nil {
		flags.StringVar(&c.storeURL, "store", c.storeURL, "")
		flags.StringVar(&c.tokenFile, "token-file", c.tokenFile, "")
		flags.BoolVar(&c.json, "json", false, "")
	}
	return flags
}

// hookVariables are the flags' variables. A tool runs the same command for everybody.
var hookVariables = map[string]string{
	"ttl": "LEASEHOLD_HOOK_TTL", "limit": "LEASEHOLD_HOOK_LIMIT", "fail-closed": "LEASEHOLD_HOOK_FAIL_CLOSED", "task": "LEASEHOLD_TASK",
}

func (c *hookCall) readEnvironment(flags *pflag.FlagSet) (err error) {
	for name, variable := range hookVariables {
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		if wrong := flags.Lookup(name).Value.Set(value); wrong != nil {
			c.FailClosed = c.FailClosed || name == "fail-closed" // a guard that is set wrongly is on
			err = errors.Join(err, fmt.Errorf("%s is %s: %w", variable, strconv.Quote(value), wrong))
		}
	}
	return err
}

// agentHook is the hook of a coding agent's tool.
func agentHook(tool string) func(*hookCall) int {
	return func(c *hookCall) int {
		signal.Ignore(syscall.SIGPIPE) // a tool that reads no answer still gets the exit code
		c.Open = func(ctx context.Context) (leasehold.Store, error) { return c.openBare(ctx, "leasehold hook") }
		if !strings.ContainsAny(c.storeURL, "@?") { // else it may have a password
			c.Store = c.storeURL
		}
		return hook.Run(tool, c.in, c.out, c.err, c.Options)
	}
}
