package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

const watchHelp = `Show what happens as it happens, one line each, until Ctrl-C. After a break in
the connection it goes on where it was. With --json each line is one JSON
document; {"event":"reset"} says that records were missed in between.`

// errEnough ends a watch after the events of --count.
var errEnough = errors.New("enough")

func newWatch(a *app) *cobra.Command {
	var r leasehold.WatchRequest
	var count int
	cmd := &cobra.Command{
		Use: "watch [PREFIX]", GroupID: groupLook, Args: argsBetween(0, 1),
		Short: "Show what happens as it happens", Long: watchHelp,
		Example: "  leasehold watch\n  leasehold watch deploy: --json\n  leasehold watch --holder ci:42 --count 1",
	}
	flags := cmd.Flags()
	flags.StringVar(&r.Holder, "holder", "", "exactly this holder")
	flags.Uint64Var(&r.After, "after", 0, "begin after this record of the history (default: with what happens from now on)")
	flags.IntVarP(&count, "count", "n", 0, "end after so many events (default: never)")
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, args []string) error {
		if len(args) > 0 {
			r.Prefix = args[0]
		}
		if r.After == 0 && flags.Changed("after") {
			return usagef("--after is 0; want the number of a record, 1 or more")
		}
		err := a.watch(ctx, s, r, count)
		if errors.Is(err, errEnough) {
			return nil
		}
		return err
	})
	return cmd
}

// watch goes on after the last record when the connection is lost. A store that
// never answered is an error.
func (a *app) watch(ctx context.Context, s leasehold.Store, r leasehold.WatchRequest, count int) error {
	watcher, err := power[leasehold.Watcher](s, "watch")
	if err != nil {
		return err
	}
	if r.After == 0 {
		if r.After, err = newestRecord(ctx, s); err != nil {
			return err
		}
	}
	seen := 0
	var each func(n leasehold.Notice) error
	each = func(n leasehold.Notice) error {
		if missed, ok := missedRecords(ctx, s, r, n); ok {
			for _, record := range missed {
				if err := each(leasehold.Notice{Record: record}); err != nil {
					return err
				}
			}
			r.After = n.Seq
			return nil
		}
		if n.Seq > 0 {
			r.After = n.Seq
		}
		if err := a.printNotice(n); err != nil {
			return err
		}
		if seen++; seen == count {
			return errEnough
		}
		return nil
	}
	for {
		err := watcher.Watch(ctx, r, each)
		if !mayComeBack(err) || ctx.Err() != nil {
			return err
		}
		a.note("the watch was cut off; going on after record %d", r.After)
		if !sleep.For(ctx, retryPause) {
			return err
		}
	}
}

// newestRecord returns where a watch starts, so that nothing is lost between two
// connections. Zero if there is no history.
func newestRecord(ctx context.Context, s leasehold.Store) (uint64, error) {
	historian, ok := s.(leasehold.Historian)
	if !ok {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	page, err := historian.History(ctx, leasehold.HistoryRequest{Limit: 1})
	if errors.Is(err, leasehold.ErrUnsupported) {
		return 0, nil
	}
	if err != nil || len(page.Records) == 0 {
		return 0, err
	}
	return page.Records[0].Seq, nil
}

func (a *app) printNotice(n leasehold.Notice) error {
	if a.json {
		line := wire.FromRecord(n.Record)
		if n.Reset {
			line.Event = "reset"
		}
		return json.NewEncoder(a.out).Encode(line)
	}
	if n.Reset {
		_, err := fmt.Fprintf(a.out, "%d  records before this one were missed\n", n.Seq)
		return err
	}
	_, err := fmt.Fprintln(a.out, strings.TrimSpace(strings.Join(recordRow(n.Record, n.At.Local().Format(time.TimeOnly)), "  ")))
	return err
}

// maxMissed bounds the records that are read after a reset; beyond, the reset is
// shown instead.
const maxMissed = 10 * leasehold.MaxPage

// missedRecords reads from the history, oldest first, what a watch missed before a
// reset. False if the history does not have all of it.
func missedRecords(ctx context.Context, s leasehold.Store, r leasehold.WatchRequest, n leasehold.Notice) ([]leasehold.Record, bool) {
	historian, ok := s.(leasehold.Historian)
	if !ok || !n.Reset || r.After == 0 || r.After >= n.Seq {
		return nil, false
	}
	q := leasehold.HistoryRequest{Prefix: r.Prefix, Holder: r.Holder, Limit: leasehold.MaxPage}
	var missed []leasehold.Record
	for {
		page, err := historian.History(ctx, q)
		if err != nil || len(missed) > maxMissed {
			return nil, false
		}
		for _, record := range page.Records {
			if record.Seq <= r.After {
				slices.Reverse(missed)
				return missed, true
			}
			if record.Seq <= n.Seq {
				missed = append(missed, record)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			slices.Reverse(missed)
			return missed, len(missed) > 0 && !purgedSince(ctx, historian, r.After)
		}
	}
}

// purgedSince reports whether records after seq may have been purged.
func purgedSince(ctx context.Context, h leasehold.Historian, seq uint64) bool {
	page, err := h.History(ctx, leasehold.HistoryRequest{Kind: leasehold.KindPurged, Limit: 1})
	return err != nil || len(page.Records) > 0 && page.Records[0].Seq > seq
}
