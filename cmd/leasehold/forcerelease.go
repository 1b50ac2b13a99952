package main

import (
	"context"
	"fmt"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

func newForceRelease(a *app) *cobra.Command {
	var reason string
	var children bool
	cmd := &cobra.Command{
		Use: "force-release HOLDER", GroupID: groupOperate, Args: exactArgs(1),
		Short: "End every lease of one holder",
		Long: "End every lease of one holder in one step, for a holder that is gone for good.\n" +
			"If it is not, it works on without its leases until it notices.\n\n" +
			"--children also ends those of the holders below it, HOLDER/…: the sub-agents of an\n" +
			"agent's session, for instance. A holder's token may release the holders that it names.",
		Example: "  leasehold list --holder ci:42\n  leasehold force-release ci:42 --reason 'machine lost'\n" +
			"  leasehold force-release claude:5c1f --children",
	}
	cmd.Flags().BoolVar(&children, "children", false, "also the holders whose names begin with HOLDER/")
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, args []string) error {
		n, err := forceRelease(ctx, s, args[0], reason, children)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(wire.Forced{Released: n})
		}
		_, err = fmt.Fprintf(a.out, "released %d of %s\n", n, args[0])
		return err
	})
	return cmd
}

func forceRelease(ctx context.Context, s leasehold.Store, holder, reason string, children bool) (int, error) {
	if children {
		releaser, err := power[leasehold.ChildReleaser](s, "force_release")
		if err != nil {
			return 0, err
		}
		return releaser.ReleaseWithChildren(ctx, holder, reason)
	}
	releaser, err := power[leasehold.HolderReleaser](s, "force_release")
	if err != nil {
		return 0, err
	}
	return releaser.ReleaseHolder(ctx, holder, reason)
}
