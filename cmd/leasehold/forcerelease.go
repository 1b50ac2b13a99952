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
	cmd := &cobra.Command{
		Use: "force-release HOLDER", GroupID: groupOperate, Args: exactArgs(1),
		Short: "End every lease of one holder",
		Long: "End every lease of one holder in one step, for a holder that is gone for good.\n" +
			"If it is not, it works on without its leases until it notices.",
		Example: "  leasehold list --holder ci:42\n  leasehold force-release ci:42 --reason 'machine lost'",
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, args []string) error {
		releaser, err := power[leasehold.HolderReleaser](s, "force_release")
		if err != nil {
			return err
		}
		n, err := releaser.ReleaseHolder(ctx, args[0], reason)
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
