package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

// listFlags say which leases.
type listFlags struct {
	request  leasehold.ListRequest
	states   []string
	metadata []string
	all      bool
	waiting  bool
}

func newList(a *app) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use: "list [PREFIX]", Aliases: []string{"ls"}, GroupID: groupLook, Args: argsBetween(0, 1), ValidArgsFunction: a.completeResource,
		Short: "List leases",
		Long: "List the leases that are active or breaking, by resource. Filters add up.\n\n" +
			"With --waiting it lists who waits instead, the longest first, and for whom.",
		Example: "  leasehold list\n  leasehold list prod: --metadata region=us-east-1\n  leasehold list --status expired --status broken --json\n  leasehold list --namespace repo --path 'src/**'",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.request.Resource, "resource", "", "exactly this resource, or leases on several that have it")
	flags.StringVar(&f.request.Namespace, "namespace", "", "only leases on paths of this namespace")
	flags.StringVar(&f.request.Path, "path", "", "only those that overlap with this pattern of the namespace")
	flags.StringVar(&f.request.Holder, "holder", "", "exactly this holder")
	flags.StringArrayVar(&f.states, "status", nil, "leases in this state (repeatable; default active and breaking)")
	flags.StringArrayVarP(&f.metadata, "metadata", "m", nil, "KEY=VALUE that the lease has (repeatable)")
	flags.BoolVar(&f.waiting, "waiting", false, "who waits, and for whom, instead of leases; takes --limit only")
	addPageFlags(cmd, &f.request.Limit, &f.request.Cursor, &f.all)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return refuseEmpty(cmd, "namespace", "path") }
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		if len(args) > 0 {
			f.request.Prefix = args[0]
		}
		if err := checkLimit(cmd, &f.request.Limit, f.all); err != nil {
			return err
		}
		if f.waiting {
			if err := refuseBeside(cmd, "waiting", "limit"); err != nil {
				return err
			}
			if len(args) > 0 {
				return usagef("--waiting lists everybody who waits; leave %q out, or ask status for one resource", args[0])
			}
			return a.listWaiting(ctx, s, f.request.Limit)
		}
		return a.list(ctx, s, f)
	})
	return cmd
}

func addPageFlags(cmd *cobra.Command, limit *int, cursor *string, all *bool) {
	flags := cmd.Flags()
	flags.IntVar(limit, "limit", leasehold.DefaultPage, fmt.Sprintf("how many at most, 1 to %d", leasehold.MaxPage))
	flags.StringVar(cursor, "cursor", "", "where the page before ended")
	flags.BoolVar(all, "all", false, "every page")
}

// checkLimit refuses a limit of 0, which a store takes for its default. With --all
// the default is the largest page.
func checkLimit(cmd *cobra.Command, limit *int, all bool) error {
	given := cmd.Flags().Changed("limit")
	switch {
	case given && *limit == 0:
		return usagef("--limit is 0; want 1 to %d", leasehold.MaxPage)
	case all && !given:
		*limit = leasehold.MaxPage
	}
	return nil
}

func (a *app) list(ctx context.Context, s leasehold.Store, f listFlags) error {
	lister, err := power[leasehold.Lister](s, "list")
	if err != nil {
		return err
	}
	r := f.request
	if r.Metadata, err = parsePairs(f.metadata); err != nil {
		return err
	}
	for _, name := range f.states {
		state, err := leasehold.ParseState(name)
		if err != nil {
			return err
		}
		r.States = append(r.States, state)
	}
	page, err := lister.List(ctx, r)
	for err == nil && f.all && page.Cursor != "" {
		r.Cursor = page.Cursor
		var next leasehold.LeasePage
		next, err = lister.List(ctx, r)
		page = leasehold.LeasePage{Leases: append(page.Leases, next.Leases...), Cursor: next.Cursor}
	}
	if err != nil {
		return err
	}
	return a.printLeases(page)
}

func (a *app) printLeases(page leasehold.LeasePage) error {
	if a.json {
		return a.printJSON(wire.FromLeasePage(page))
	}
	if len(page.Leases) == 0 {
		a.note("no leases")
		return nil
	}
	rows := [][]string{{"RESOURCE", "HOLDER", "TOKEN", "STATUS", "ENDS IN", "RENEWED", "METADATA"}}
	sets := slices.ContainsFunc(page.Leases, func(l leasehold.Lease) bool { return len(l.Claims) > 0 })
	if sets {
		rows[0] = slices.Insert(rows[0], 1, "COVERS")
	}
	for _, l := range page.Leases {
		row := []string{l.Resource, l.Holder, fmt.Sprint(l.Token), l.State.String(), remaining(l), renewals(l), pairs(l.Metadata)}
		if sets {
			row = slices.Insert(row, 1, orDash(claimList(l.Claims)))
		}
		rows = append(rows, row)
	}
	if err := table(a.out, rows); err != nil {
		return err
	}
	a.noteMore(page.Cursor)
	return nil
}

func (a *app) noteMore(cursor string) {
	if cursor != "" {
		a.note("there is more: --cursor %s goes on, --all shows everything", quote(cursor))
	}
}
