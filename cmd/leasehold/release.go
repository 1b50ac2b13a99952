package main

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

func newRelease(a *app) *cobra.Command {
	var f leaseFlags
	var reason, note string
	cmd := &cobra.Command{
		Use: "release", GroupID: groupHold, Args: exactArgs(0),
		Short:   "Give a lease back",
		Long:    "Give a lease back at once. Whoever is first in line has it in the same step." + leaseIDHelp,
		Example: "  leasehold release\n  leasehold release --reason 'rolled back'\n  leasehold release --note 'tests are green, docs are missing'\n  leasehold release --lease-id - < id-file",
	}
	f.add(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why, for the history")
	cmd.Flags().StringVar(&note, "note", "", "what the next holder of any part of it is shown")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, _ []string) error {
		id, err := a.leaseID(f)
		if err != nil {
			return err
		}
		l, err := s.Release(ctx, leasehold.ReleaseRequest{ID: id, Resource: f.resource, Holder: f.holder, Token: f.token, Why: reason, Note: note})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(wire.Released{Success: true, Lease: wire.FromLease(l)})
		}
		return a.printLease(l, "released")
	})
	return cmd
}
