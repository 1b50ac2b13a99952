package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

// historyFlags say which records.
type historyFlags struct {
	request      leasehold.HistoryRequest
	event        string
	since, until string
	at           string
	all          bool
}

func newHistory(a *app) *cobra.Command {
	var f historyFlags
	cmd := &cobra.Command{
		Use: "history [RESOURCE]", GroupID: groupLook, Args: argsBetween(0, 1), ValidArgsFunction: a.completeResource,
		Short: "Show what happened, newest first",
		Long: "Show what happened to leases, newest first, with the state before and after.\n\n" +
			"With --at it shows who held the resource, or all leases, at a moment of the past.",
		Example: "  leasehold history deploy:prod\n  leasehold history --holder ci:42 --since 1h\n  leasehold history --event broken --since 2026-01-31T00:00:00Z --json\n  leasehold history deploy:prod --at 2026-01-31T14:03:07Z",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.request.Prefix, "prefix", "", "resources that begin so")
	flags.StringVar(&f.request.Holder, "holder", "", "exactly this holder")
	flags.StringVar(&f.event, "event", "", "only this event, such as acquired, expired or broken")
	flags.StringVar(&f.since, "since", "", "from this time on: RFC 3339, or 15m for a quarter of an hour ago")
	flags.StringVar(&f.until, "until", "", "before this time, written the same way")
	flags.StringVar(&f.at, "at", "", "who held what at this time, written the same way; takes --prefix, --holder, --limit and --cursor")
	addPageFlags(cmd, &f.request.Limit, &f.request.Cursor, &f.all)
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		if len(args) > 0 {
			f.request.Resource = args[0]
		}
		if err := checkLimit(cmd, &f.request.Limit, f.all); err != nil {
			return err
		}
		if !cmd.Flags().Changed("at") {
			return a.history(ctx, s, f)
		}
		if err := f.checkAt(cmd); err != nil {
			return err
		}
		return a.historyAt(ctx, s, f)
	})
	return cmd
}

// checkAt refuses what means nothing beside --at.
func (f historyFlags) checkAt(cmd *cobra.Command) error {
	beside := []string{"prefix", "holder", "limit", "cursor"}
	if f.request.Resource != "" {
		beside = nil
	}
	if err := refuseEmpty(cmd, "at"); err != nil {
		return err
	}
	return refuseBeside(cmd, "at", beside...)
}

func (a *app) history(ctx context.Context, s leasehold.Store, f historyFlags) error {
	historian, err := power[leasehold.Historian](s, "history")
	if err != nil {
		return err
	}
	r := f.request
	r.Kind = leasehold.Kind(f.event)
	if r.Since, err = parseMoment("since", f.since, time.Now()); err != nil {
		return err
	}
	if r.Until, err = parseMoment("until", f.until, time.Now()); err != nil {
		return err
	}
	page, err := historian.History(ctx, r)
	for err == nil && f.all && page.Cursor != "" {
		r.Cursor = page.Cursor
		var next leasehold.HistoryPage
		next, err = historian.History(ctx, r)
		page = leasehold.HistoryPage{Records: append(page.Records, next.Records...), Cursor: next.Cursor}
	}
	if err != nil {
		return err
	}
	return a.printHistory(page)
}

func (a *app) printHistory(page leasehold.HistoryPage) error {
	if a.json {
		return a.printJSON(wire.FromHistoryPage(page))
	}
	if len(page.Records) == 0 {
		a.note("no records")
		return nil
	}
	rows := [][]string{{"SEQ", "WHEN", "EVENT", "RESOURCE", "HOLDER", "TOKEN", "STATUS", "WHY"}}
	for _, r := range page.Records {
		rows = append(rows, recordRow(r, ago(r.At, time.Now())))
	}
	if err := table(a.out, rows); err != nil {
		return err
	}
	a.noteMore(page.Cursor)
	return nil
}

func recordRow(r leasehold.Record, when string) []string {
	why := visible(r.Why)
	if details := pairs(shownDetails(r.Details)); details != "" {
		why += " (" + details + ")"
	}
	return []string{
		fmt.Sprint(r.Seq), when, string(r.Kind), orDash(r.Resource), orDash(r.Holder),
		fmt.Sprint(r.Token), r.Before.String() + " → " + r.After.String(), why,
	}
}

// shownDetails leaves out what nearly every record has.
func shownDetails(details map[string]string) map[string]string {
	shown := maps.Clone(details)
	delete(shown, "ends_in_ms")
	return shown
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
