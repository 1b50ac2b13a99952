package main

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

func newRenew(a *app) *cobra.Command {
	var f leaseFlags
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "renew", GroupID: groupHold, Args: exactArgs(0),
		Short: "Restart a lease's ttl",
		Long: "Restart the ttl of a lease that you hold. The new end is counted from now. A\n" +
			"lease that has ended is not revived: the exit code is then 79." + leaseIDHelp,
		Example: "  leasehold renew\n  leasehold renew --ttl 10m\n  leasehold renew --lease-id - < id-file",
	}
	f.add(cmd)
	cmd.Flags().Var(newTTLFlag(&ttl), "ttl", "a new ttl, or infinite (default: as before)")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, _ []string) error {
		id, err := a.leaseID(f)
		if err != nil {
			return err
		}
		l, err := s.Renew(ctx, leasehold.RenewRequest{ID: id, Resource: f.resource, TTL: ttl, Holder: f.holder, Token: f.token})
		if err != nil {
			return err
		}
		if err := a.printLease(l, "renewed"); err != nil {
			return err
		}
		a.printNotes(l) // a holder by transfer sees them here first
		return nil
	})
	return cmd
}

// printLease prints a lease and what was done to it.
func (a *app) printLease(l leasehold.Lease, what string) error {
	if a.json {
		return a.printJSON(wire.FromLease(l))
	}
	s := fmt.Sprintf("%s %s of %s, token %d", what, leaseName(l), l.Holder, l.Token)
	switch {
	case !l.State.Locked():
	case l.Remaining == leasehold.Infinite:
		s += "; it has no end"
	default:
		s += "; it ends in " + span(l.Remaining)
	}
	_, err := fmt.Fprintln(a.out, s)
	return err
}
