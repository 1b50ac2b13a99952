package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/internal/observe"
	"github.com/spf13/cobra"
)

// commands are in the order of the help.
var commands = []func(*app) *cobra.Command{
	newServe,
	newRun,
	newAcquire, newRenew, newRelease, newTransfer,
	newMCP,
	newStatus, newList, newWait, newWatch, newHistory,
	newInit, newDoctor, newGuard, newHook,
	newBreak, newForceRelease, newConfig, newToken, newBackup, newRestore, newMove, newBlob,
	newHealth, newBench, newVersion,
}

// app is what all commands share.
type app struct {
	in  io.Reader
	out io.Writer // answers, and nothing else
	err io.Writer // progress, notes and errors

	storeURL  string
	tokenFile string
	json      bool

	telemetry *observe.Command // nil: none
}

// The groups of the help.
const (
	groupHold    = "hold"
	groupLook    = "look"
	groupAgents  = "agents"
	groupOperate = "operate"
)

const rootHelp = `Leasehold gives time-bound, exclusive access to named resources, with a fencing
token for each grant.

Every command takes --store URL, so the same words work on a server and straight
on a store:

  http://127.0.0.1:8105   a server; the default
  https://HOST?ca=FILE    a server with TLS (also &cert=FILE&key=FILE)
  sqlite:FILE             a database file that no server has open
  sqlite:FILE?mode=shared the same file, for several processes of this machine
  memory:                 nothing but this process, for trying things out
  postgres://USER@HOST/DB PostgreSQL
  etcd://HOST:PORT,…      etcd; etcds:// with TLS
  surreal://HOST:PORT/NAMESPACE/DB  SurrealDB; surreals:// with TLS
  redis://HOST:PORT/DB    Redis; rediss:// with TLS
  azblob://NAME/CONTAINER a storage account in Azure, or azblob:///CONTAINER
  cosmos://NAME/DB/CONTAINER  a Cosmos DB account, or cosmos:///DB/CONTAINER

Environment:

  LEASEHOLD_STORE         the store, where --store is not given
  LEASEHOLD_STORE_SECRET  its password, key or connection string, if it has one
  LEASEHOLD_TOKEN_FILE    a file with the secret to show to a server
  LEASEHOLD_AUTH_TOKEN    the secret itself
  LEASEHOLD_HOLDER        who you are, where --holder is not given
  LEASEHOLD_LEASE_ID      the lease, where --lease-id is not given
  TRACEPARENT, TRACESTATE the trace that the command is part of
  OTEL_…                  where to export traces, metrics and logs to

`

const rootExample = `  leasehold serve
  eval "$(leasehold acquire deploy:prod --ttl 5m)" && echo "token $LEASEHOLD_TOKEN"
  leasehold status deploy:prod
  leasehold release`

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:     "leasehold",
		Short:   "Leases: time-bound, exclusive access to named resources",
		Long:    rootHelp + exitHelp(),
		Example: rootExample,
		Args:    cobra.ArbitraryArgs,
		RunE:    a.noCommand,

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := refuseEmpty(cmd, guards...); err != nil {
				return err
			}
			return a.startTelemetry(cmd)
		},

		SuggestionsMinimumDistance: 2,

		SilenceErrors: true, // report writes errors
		SilenceUsage:  true,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	flags := root.PersistentFlags()
	flags.StringVar(&a.storeURL, "store", "", "URL of the store (default $LEASEHOLD_STORE, else "+defaultStore+")")
	flags.StringVar(&a.tokenFile, "token-file", "", "file with the secret to show to a server (default $LEASEHOLD_TOKEN_FILE)")
	flags.BoolVar(&a.json, "json", false, "answer in JSON, in the shapes of the API")
	root.AddGroup(
		&cobra.Group{ID: groupHold, Title: "Hold a lease:"},
		&cobra.Group{ID: groupLook, Title: "Look around:"},
		&cobra.Group{ID: groupAgents, Title: "Work beside others in a repository:"},
		&cobra.Group{ID: groupOperate, Title: "Operate:"},
	)
	for _, command := range commands {
		root.AddCommand(command(a))
	}
	return root
}

// guards are the flags that keep callers out, or name who is let in.
var guards = []string{"token-file", "tls-cert", "tls-key", "client-ca", "blob-accounts", "blob-listen", "host"}

// noCommand runs for a command line without a known command.
func (a *app) noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usagef("there is no command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return usagef("there is no command %q; leasehold --help lists them", args[0])
}

// noTelemetry are the commands that are no clients of leases.
var noTelemetry = map[string]bool{
	"leasehold": true, "leasehold serve": true, "leasehold version": true, "leasehold help": true, "leasehold hook": true,
	"leasehold __guardian": true, "leasehold __launch": true,
}

// startTelemetry continues the trace of the environment, and exports what the
// command does if the environment says so.
func (a *app) startTelemetry(cmd *cobra.Command) (err error) {
	name := cmd.CommandPath()
	if noTelemetry[name] {
		return nil
	}
	ctx := cmd.Context()
	if ctx, a.telemetry, err = observe.StartCommand(ctx, name, readBuildInfo().Version); err != nil {
		return usagef("%v", err)
	}
	cmd.SetContext(ctx)
	return nil
}

// run executes the command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(allowNegative(root, args))
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.json = a.json || slices.Contains(args, "--json") // it may stand behind the wrong flag, unread
		return usagef("%v; see %s --help", err, cmd.CommandPath())
	})
	cmd, err := root.ExecuteContextC(ctx)
	a.report(err)
	code := codeOf(err)
	a.telemetry.End(code)
	if err != nil && cmd.Annotations[forEval] != "" && !a.json && !isTerminal(a.out) {
		fmt.Fprintf(a.out, "(exit %d)\n", code)
	}
	return code
}

// allowNegative lets config set have a value such as -1, which would be a flag: it
// puts negative numbers behind a --, where only arguments stand.
func allowNegative(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd.CommandPath() != "leasehold config set" || slices.Contains(args, "--") {
		return args
	}
	isNumber := func(s string) bool { _, err := strconv.ParseFloat(s, 64); return err == nil && s[0] == '-' }
	var flags, numbers []string
	for _, arg := range args {
		if isNumber(arg) {
			numbers = append(numbers, arg)
		} else {
			flags = append(flags, arg)
		}
	}
	return slices.Concat(flags, []string{"--"}, numbers)
}

// forEval marks commands whose output is meant for eval "$(…)". A shell drops the
// exit code in there, and evaluating nothing succeeds: a script would go on
// without its lease. So a failure prints (exit N) for the shell to evaluate.
const forEval = "for eval"

// exactArgs is cobra's ExactArgs with an error that names the arguments.
func exactArgs(n int) cobra.PositionalArgs { return argsBetween(n, n) }

func argsBetween(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("wants %s; see %s --help", cmd.UseLine(), cmd.CommandPath())
		}
		return nil
	}
}
