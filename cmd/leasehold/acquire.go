package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

const acquireHelp = `Acquire a lease and print it as lines for a shell:

  export LEASEHOLD_LEASE_ID=…   the secret handle, for renew, transfer and release
  export LEASEHOLD_RESOURCE=…
  export LEASEHOLD_TOKEN=…      the fencing token
  export LEASEHOLD_EXPIRES_AT=… empty if the lease has no end

If it fails it prints (exit N) instead, so that eval "$(leasehold acquire …)"
fails as well.

The lease is yours until it expires: renew it in time or release it. To hold a
lease around one command and have all that done for you, use leasehold run.` + claimHelp + `

To upgrade or downgrade, acquire again with --lease-id and the same resources and
patterns, with or without --shared: the lease keeps its name and gets a new token.`

const acquireExample = `  eval "$(leasehold acquire deploy:prod --ttl 5m)" && { ./deploy; leasehold release; }
  leasehold acquire deploy:prod --wait 1m --metadata commit=8f3a
  leasehold acquire nightly --holder ci:42 --ttl infinite --json
  leasehold acquire --namespace repo --path 'src/auth/**' --path go.mod --wait 1m`

// acquireFlags say what to acquire, and how.
type acquireFlags struct {
	claimFlags
	request     leasehold.AcquireRequest
	leaseID     string
	wait        time.Duration
	maxRenewals int
	metadata    []string
}

func newAcquire(a *app) *cobra.Command {
	var f acquireFlags
	cmd := &cobra.Command{
		Use: "acquire [RESOURCE…]", GroupID: groupHold, Args: cobra.ArbitraryArgs, ValidArgsFunction: a.completeResources,
		Short: "Acquire a lease", Long: acquireHelp, Example: acquireExample,
		Annotations: map[string]string{forEval: "yes"},
	}
	f.claimFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.request.Holder, "holder", "", "who you are (default $LEASEHOLD_HOLDER, else user@host:shell)")
	flags.Var(newTTLFlag(&f.request.TTL), "ttl", "how long the lease lasts, or infinite (default: the store's setting "+leasehold.SettingDefaultTTL+")")
	flags.VarP(durationFlag{&f.wait, leasehold.NoTimeout}, "wait", "w", "how long to wait in line while it is held, or forever (default: not at all)")
	flags.IntVar(&f.request.Priority, "priority", 0, "-100 to 100; higher is served first")
	flags.IntVar(&f.maxRenewals, "max-renewals", 0, "how often the lease may be renewed; -1 is no limit (default: the store's setting "+leasehold.SettingMaxRenewals+")")
	flags.BoolVar(&f.request.Sequence, "sequence", false, "all requests of this holder are one sequence of work: a wait that could never end, because others wait for what the holder has, is refused at once")
	flags.StringArrayVarP(&f.metadata, "metadata", "m", nil, "KEY=VALUE to keep with the lease (repeatable)")
	flags.StringVar(&f.leaseID, "lease-id", "", "propose the lease's id, which makes it safe to ask again; - reads it from standard input")
	acquire := a.onStore(func(ctx context.Context, s leasehold.Store, _ []string) error {
		if cmd.Flags().Changed("max-renewals") {
			f.request.MaxRenewals = &f.maxRenewals
		}
		return a.acquire(ctx, s, f)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		if len(args)+len(f.paths) == 0 {
			return usagef("wants a resource or --path; see %s --help", cmd.CommandPath())
		}
		if f.request.Resource, f.request.Claims, err = f.claims(args); err != nil {
			return err
		}
		return acquire(cmd, args)
	}
	return cmd
}

func (a *app) acquire(ctx context.Context, s leasehold.Store, f acquireFlags) error {
	r := f.request
	r.Holder = holderName(r.Holder, os.Getppid())
	var err error
	if r.Metadata, err = parsePairs(f.metadata); err != nil {
		return err
	}
	if r.ID, err = a.proposedID(f.leaseID); err != nil {
		return err
	}
	// With an id a request whose answer was lost can be repeated.
	own := r.ID.IsZero()
	if own {
		r.ID = leasehold.NewID()
	}
	r.Timeout = f.wait
	g, err := a.acquireOnce(ctx, s, r)
	if leasehold.ReasonOf(err) == leasehold.ReasonIDInUse && r.Resource != "" {
		// The id of a shared lease on one name: an upgrade has claims, as that has.
		upgrade := r
		upgrade.Resource, upgrade.Claims = "", leasehold.Resources(r.Resource)
		if u, why := a.acquireOnce(ctx, s, upgrade); !errors.Is(why, leasehold.ErrUnsupported) {
			g, err = u, why
		}
	}
	if err != nil {
		if own {
			releaseUnclaimed(s, r, err)
		}
		return err
	}
	if err := a.printGrant(g, f.wait != 0); err != nil {
		if own {
			releaseOwn(s, r)
			return fmt.Errorf("%w; the lease was released, as nobody has its id", err)
		}
		return err
	}
	return nil
}

// acquireOnce makes one acquire, which may wait.
func (a *app) acquireOnce(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if r.Timeout == 0 {
		return acquireNow(ctx, s, r)
	}
	return a.acquireWaiting(ctx, s, r)
}

// acquireNow repeats the request if its answer is lost.
func acquireNow(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		g, err := s.Acquire(ctx, r)
		if !errors.Is(err, leasehold.ErrUnknown) || attempt == 3 || ctx.Err() != nil {
			return g, err
		}
	}
}

// retryPause is the pause before a server that went away is called again.
const retryPause = time.Second

// acquireWaiting waits in the store's queue and shows its progress. A server that
// restarts meanwhile costs the position in the queue, not the wait; one that never
// answered is an error at once.
func (a *app) acquireWaiting(ctx context.Context, s leasehold.Store, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	waiter, err := power[leasehold.Waiter](s, "acquire")
	if err != nil {
		return leasehold.Grant{}, err
	}
	p := a.startProgress(ctx, s, r)
	defer p.stop()
	deadline := time.Now().Add(r.Timeout)
	for {
		g, err := waiter.Wait(ctx, r)
		if err == nil || !p.reached.Load() || !mayComeBack(err) {
			return g, err
		}
		if r.Timeout != leasehold.NoTimeout {
			if r.Timeout = time.Until(deadline) - retryPause; r.Timeout <= 0 {
				return g, err
			}
		}
		p.print("the server is away; asking again")
		if !sleep.For(ctx, retryPause) {
			return g, err
		}
	}
}

func mayComeBack(err error) bool {
	return errors.Is(err, leasehold.ErrUnavailable) || errors.Is(err, leasehold.ErrUnknown)
}

// releaseUnclaimed releases a lease that may have been granted although the
// command failed: the answer was lost, or the wait was cancelled as it ended.
func releaseUnclaimed(s leasehold.Store, r leasehold.AcquireRequest, err error) {
	if !errors.Is(err, leasehold.ErrUnknown) && leasehold.ReasonOf(err) != leasehold.ReasonCancelled {
		return
	}
	releaseOwn(s, r)
}

// releaseOwn releases the lease of an id that no other process knows.
func releaseOwn(s leasehold.Store, r leasehold.AcquireRequest) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	_, _ = s.Release(ctx, leasehold.ReleaseRequest{ID: r.ID, Resource: r.Resource, Why: leasehold.WhyAbandoned})
}

// printGrant writes the lease for a shell, and a sentence for people.
func (a *app) printGrant(g leasehold.Grant, waited bool) error {
	if a.json {
		return a.printJSON(wire.FromGrant(g, waited))
	}
	a.note("%s", grantSentence(g))
	a.printNotes(g.Lease)
	return a.printExports(g.Lease)
}

// printNotes shows what the holders before left for this one.
func (a *app) printNotes(l leasehold.Lease) {
	for _, n := range l.Notes {
		a.note("%s", noteText(n))
	}
}

func grantSentence(g leasehold.Grant) string {
	s := fmt.Sprintf("acquired %s as %s, token %d", leaseName(g.Lease), g.Holder, g.Token)
	if g.Idempotent {
		s = fmt.Sprintf("%s is yours already, token %d", leaseName(g.Lease), g.Token)
	}
	if g.Waited >= time.Millisecond {
		s += ", after " + span(g.Waited)
	}
	if g.Remaining == leasehold.Infinite {
		return s + "; it has no end"
	}
	return s + "; it ends in " + span(g.Remaining)
}

// printExports writes the lease for a shell. It and printJSON are the only
// places that print a lease id.
func (a *app) printExports(l leasehold.Lease) error {
	_, err := fmt.Fprintf(a.out, "export LEASEHOLD_LEASE_ID=%s\nexport LEASEHOLD_RESOURCE=%s\nexport LEASEHOLD_TOKEN=%d\nexport LEASEHOLD_EXPIRES_AT=%s\n",
		l.ID.Reveal(), quote(l.Resource), l.Token, endTime(l.ExpiresAt))
	return err
}
