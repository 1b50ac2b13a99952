package main

import (
	"time"

	"github.com/leasehold/leasehold"
	"github.com/spf13/cobra"
)

const runHelp = `Run a command while holding a lease, as flock does with a file lock. The lease is
acquired first, renewed while the command runs, and released when the command
and every process in its process group has ended.

A guardian process stands between: if the lease cannot be renewed, or if this
program is stopped or killed, the guardian ends the command before anybody else
can get the lease. The command's process group gets SIGTERM at the safety line,
nine tenths into the ttl, and SIGKILL --kill-after later, in any case before the
lease ends. Choose a ttl whose tenth is enough for the command to finish in.

What leaves the process group (setsid, daemons, the jobs of an interactive
shell) is neither waited for nor killed. A job stopped with Ctrl-Z does not renew
its lease: let it go on before the ttl is over, or it is lost.

A command that changes its user (sudo) cannot be stopped by a run without
privileges. Then standard error says what runs on, and the lease is renewed until
it ends. If this program was killed as well, nobody can renew. Better put sudo
before leasehold run.

A wait that could never end is refused at once, as a conflict: one for what this
holder has already, as a run within a run does, or for what another holder has who
waits for this one. Where processes of one holder work side by side, as under make -j,
such a wait does end: give them --sequence=false or names of their own.

The command finds in its environment:

  LEASEHOLD_RESOURCE     what is held: the name of the lease
  LEASEHOLD_CLAIMS       what it covers, one in a line: mode, pattern and, of a path,
                         namespace, with tabs between
  LEASEHOLD_TOKEN        the fencing token: send it along with every change
  LEASEHOLD_HOLDER       by whom
  LEASEHOLD_EXPIRES_AT   when the first ttl ends; empty if it has no end
  LEASEHOLD_LEASE_ID     the secret handle, only with --export-lease-id

The exit code is the command's own, 128+n if signal n ended it, or:

  1    the resource is held by another, or the wait could never end (-E chooses
       another code)
  64   the command line or a value is wrong
  69   the store or server is unavailable
  75   the wait timed out
  77   not allowed
  79   the lease was lost under the command
  126  the command cannot be run
  127  the command is not there` + claimHelp

const runExample = `  leasehold run nightly -- ./backup.sh
  leasehold run -n deploy:prod -- make deploy || echo 'somebody else deploys'
  leasehold run -w 30 --ttl 5m db:migrate -- sh -c './migrate --fence "$LEASEHOLD_TOKEN"'
  leasehold run --namespace repo --path 'src/auth/**' --path go.mod -- ./refactor
  leasehold run -s db:main db:replica -- ./report`

// runFlags say under which lease to run, and how to stop.
type runFlags struct {
	claimFlags
	ttl          time.Duration
	nonblock     bool
	wait         time.Duration
	conflictCode int
	exclusive    bool
	sequence     bool
	verbose      bool
	killAfter    time.Duration
	holder       string
	metadata     []string
	exportID     bool
}

func newRun(a *app) *cobra.Command {
	f := runFlags{wait: leasehold.NoTimeout, killAfter: 5 * time.Second}
	cmd := &cobra.Command{
		Use: "run [flags] [RESOURCE…] -- COMMAND [ARG…]", GroupID: groupHold, Args: cobra.ArbitraryArgs,
		Short: "Run a command while holding a lease", Long: runHelp, Example: runExample,
		DisableFlagsInUseLine: true,
	}
	f.claimFlags.add(cmd)
	flags := cmd.Flags()
	flags.Var(newTTLFlag(&f.ttl), "ttl", "how long the lease lasts without renewal, or infinite (default 1m)")
	flags.BoolVarP(&f.nonblock, "nonblock", "n", false, "do not wait while it is held")
	flags.VarP(durationFlag{&f.wait, leasehold.NoTimeout}, "wait", "w", "how long to wait at most; a bare number is seconds")
	flags.IntVarP(&f.conflictCode, "conflict-exit-code", "E", exitConflict, "exit code when it is held and we do not wait")
	flags.BoolVarP(&f.exclusive, "exclusive", "x", false, "as ever without -s: nobody else may have it")
	flags.BoolVar(&f.sequence, "sequence", true, "all runs of this holder are one sequence of work: a wait that could never end is refused at once")
	flags.BoolVar(&f.verbose, "verbose", false, "say what happens to the lease")
	flags.Var(durationFlag{value: &f.killAfter}, "kill-after", "time between SIGTERM and SIGKILL for a command whose lease is lost; shortened to fit")
	flags.StringVar(&f.holder, "holder", "", "who you are (default $LEASEHOLD_HOLDER, else user@host:pid)")
	flags.StringArrayVarP(&f.metadata, "metadata", "m", nil, "KEY=VALUE to keep with the lease (repeatable)")
	flags.BoolVar(&f.exportID, "export-lease-id", false, "let the command know the lease id, with which it could renew or release")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		request, command, err := f.parse(cmd, args)
		if err != nil {
			return err
		}
		return a.runUnderLease(cmd.Context(), f, request, command)
	}
	return cmd
}

// parse checks the command line before anything happens.
func (f *runFlags) parse(cmd *cobra.Command, args []string) (r leasehold.AcquireRequest, command []string, err error) {
	dash := cmd.ArgsLenAtDash()
	waits := cmd.Flags().Changed("wait")
	switch {
	case f.shared && f.exclusive:
		return r, nil, usagef("-s shares it and -x does not; give one of them")
	case f.nonblock && waits:
		return r, nil, usagef("-n does not wait and -w does; give one of them")
	case f.conflictCode < 0 || f.conflictCode > 255:
		return r, nil, usagef("-E is %d; want an exit code, 0 to 255", f.conflictCode)
	case dash < 0:
		return r, nil, usagef("wants -- before the command: leasehold run RESOURCE -- COMMAND; see %s --help", cmd.CommandPath())
	case dash+len(f.paths) == 0:
		return r, nil, usagef("names no resource: leasehold run RESOURCE -- COMMAND")
	case len(args) == dash:
		return r, nil, usagef("names no command after the --")
	}
	if waits && f.wait == 0 {
		f.nonblock = true // as with flock
	}
	if r.Resource, r.Claims, err = f.claims(args[:dash]); err == nil && len(r.Claims) == 0 {
		err = leasehold.CheckResource(r.Resource)
	}
	return r, args[dash:], err
}
