package main

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

func newBreak(a *app) *cobra.Command {
	var period time.Duration
	var reason string
	cmd := &cobra.Command{
		Use: "break RESOURCE", GroupID: groupOperate, Args: exactArgs(1), ValidArgsFunction: a.completeResource,
		Short: "End somebody's lease without its id",
		Long: "End the lease on a resource without its id. With --period its holder may go on\n" +
			"for so long, at most 60 s, cannot renew, and nobody else gets the resource\n" +
			"before; without, it is free at once, whatever its holder is doing.",
		Example: "  leasehold break deploy:prod --period 30s --reason 'host is being drained'",
	}
	cmd.Flags().Var(durationFlag{value: &period}, "period", "how long the holder may go on (default: not at all)")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, args []string) error {
		return a.breakLease(ctx, s, leasehold.BreakRequest{Resource: args[0], Period: &period, Why: reason})
	})
	return cmd
}

func (a *app) breakLease(ctx context.Context, s leasehold.Store, r leasehold.BreakRequest) error {
	breaker, err := power[leasehold.Breaker](s, "break")
	if err != nil {
		return err
	}
	l, err := breaker.Break(ctx, r)
	if err != nil {
		return err
	}
	if a.json {
		w := wire.FromLease(l)
		return a.printJSON(wire.Broken{Remaining: w.Remaining, Lease: w})
	}
	if l.State == leasehold.StateBreaking {
		_, err = fmt.Fprintf(a.out, "breaking %s, held by %s; it is free in %s\n", leaseName(l), l.Holder, span(l.Remaining))
		return err
	}
	_, err = fmt.Fprintf(a.out, "broke %s, held by %s until now\n", leaseName(l), l.Holder)
	return err
}
