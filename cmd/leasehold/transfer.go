package main

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

const transferHelp = `Hand a lease to another holder without a gap. It gets a new token and a new id;
its end, its renewals and its limits carry on, and your id ends.

Without --proposed-lease-id the new id is printed, as acquire does, for you to
pass on. If the new holder proposes the id, it stays a secret of theirs.`

func newTransfer(a *app) *cobra.Command {
	var f leaseFlags
	var to, proposed, note string
	var metadata []string
	cmd := &cobra.Command{
		Use: "transfer --to HOLDER", GroupID: groupHold, Args: exactArgs(0),
		Short: "Hand a lease to another holder", Long: transferHelp + leaseIDHelp,
		Example: "  leasehold transfer --to ci:43\n  leasehold transfer --to ci:43 --metadata stage=2",
	}
	cmd.Annotations = map[string]string{forEval: "yes"}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&to, "to", "", "the new holder (required)")
	flags.StringVar(&proposed, "proposed-lease-id", "", "the id that the new holder proposes")
	flags.StringArrayVarP(&metadata, "metadata", "m", nil, "KEY=VALUE; all of them replace the lease's (default: as before)")
	flags.StringVar(&note, "note", "", "what the new holder is shown")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, _ []string) error {
		r := leasehold.TransferRequest{Resource: f.resource, To: to, Holder: f.holder, Token: f.token, Note: note}
		var err error
		if to == "" {
			return usagef("names no new holder; give --to")
		}
		if r.Metadata, err = parsePairs(metadata); err != nil {
			return err
		}
		if r.ID, err = a.leaseID(f); err != nil {
			return err
		}
		if r.Proposed, err = a.proposedID(proposed); err != nil {
			return err
		}
		return a.transfer(ctx, s, r)
	})
	return cmd
}

func (a *app) transfer(ctx context.Context, s leasehold.Store, r leasehold.TransferRequest) error {
	transferer, err := power[leasehold.Transferer](s, "transfer")
	if err != nil {
		return err
	}
	l, err := transferer.Transfer(ctx, r)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(wire.FromLease(l))
	case l.ID.IsZero(): // the new holder's own
		return a.printLease(l, "transferred")
	}
	a.note("transferred %s to %s, token %d; pass this on:", leaseName(l), l.Holder, l.Token)
	return a.printExports(l)
}
