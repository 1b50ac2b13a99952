package main

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
	"github.com/spf13/cobra"
)

func newStatus(a *app) *cobra.Command {
	var token uint64
	var quiet bool
	cmd := &cobra.Command{
		Use: "status RESOURCE", GroupID: groupLook, Args: exactArgs(1), ValidArgsFunction: a.completeResource,
		Short: "Show who holds a resource and who waits",
		Long: "Show who holds a resource, until when, and who waits for it. A resource that is\n" +
			"shared has several holders.\n\n" +
			"With --token it answers whether somebody who holds this fencing token may still\n" +
			"act: exit code 0 if so, 79 if not. With --quiet it prints nothing: exit code 0 if\n" +
			"the resource is free, 1 if it is held.",
		Example: "  leasehold status deploy:prod\n  leasehold status deploy:prod --token 17 && ./write\n  leasehold status -q deploy:prod || echo busy",
	}
	cmd.Flags().Uint64Var(&token, "token", 0, "fencing token to check")
	cmd.Flags().BoolVarP(&quiet, "quiet", "q", false, "print nothing; the exit code tells")
	cmd.RunE = a.onStoreBriefly(func(ctx context.Context, s leasehold.Store, args []string) error {
		if quiet && cmd.Flags().Changed("token") {
			return usagef("takes --token or --quiet, not both")
		}
		if err := leasehold.CheckResource(args[0]); err != nil {
			return err
		}
		status, err := s.Status(ctx, args[0])
		switch {
		case err != nil:
			return err
		case cmd.Flags().Changed("token"):
			return a.printCheck(status, token)
		case quiet:
			return exitIf(status.Locked(), exitConflict)
		case a.json:
			return a.printJSON(wire.FromStatus(status))
		}
		return table(a.out, statusRows(status, time.Now()))
	})
	return cmd
}

func (a *app) printCheck(s leasehold.Status, token uint64) error {
	c := wire.Checked{Current: s.Check(token), Status: leasehold.StateAvailable.String()}
	if s.Lease != nil {
		c.Status, c.Token = s.Lease.State.String(), s.Lease.Token
	}
	for _, l := range s.Leases { // the newest is last
		c.Status, c.Token = l.State.String(), l.Token
	}
	var err error
	switch {
	case a.json:
		err = a.printJSON(c)
	case c.Current:
		_, err = fmt.Fprintf(a.out, "token %d is current\n", token)
	default:
		_, err = fmt.Fprintf(a.out, "token %d is not current; the newest is %d, %s\n", token, c.Token, c.Status)
	}
	if err != nil {
		return err
	}
	return exitIf(!c.Current, exitLost)
}

func statusRows(s leasehold.Status, now time.Time) [][]string {
	if s.Lease == nil {
		return [][]string{{"resource", s.Resource}, {"status", leasehold.StateAvailable.String()}}
	}
	if len(s.Leases) > 1 {
		return append(sharedRows(s), waiterRows(s, now)...)
	}
	l := *s.Lease
	rows := [][]string{{"resource", s.Resource}}
	if l.Resource != s.Resource {
		rows = append(rows, []string{"lease", l.Resource})
	}
	for _, c := range l.Claims {
		rows = append(rows, []string{"covers", c.String()})
	}
	rows = append(rows, [][]string{
		{"status", l.State.String()},
		{"holder", l.Holder},
		{"token", fmt.Sprint(l.Token)},
		{"acquired", ago(l.AcquiredAt, now)},
		{"renewals", renewals(l)},
	}...)
	if l.State.Locked() {
		rows = append(rows, []string{"ends in", remaining(l)})
	}
	if len(l.Metadata) > 0 {
		rows = append(rows, []string{"metadata", pairs(l.Metadata)})
	}
	return append(rows, waiterRows(s, now)...)
}

// sharedRows describes a resource that several leases cover.
func sharedRows(s leasehold.Status) [][]string {
	rows := [][]string{{"resource", s.Resource}, {"status", s.Lease.State.String()}}
	for _, l := range s.Leases {
		text := fmt.Sprintf("%s, token %d, as %s", l.Holder, l.Token, leaseName(l))
		switch {
		case l.State == leasehold.StateBreaking:
			text += "; being broken, free in " + remaining(l)
		case l.Remaining == leasehold.Infinite:
			text += "; it has no end"
		default:
			text += "; it ends in " + remaining(l)
		}
		rows = append(rows, []string{"held by", text})
	}
	return rows
}

func waiterRows(s leasehold.Status, now time.Time) (rows [][]string) {
	for _, w := range s.Waiters {
		text := fmt.Sprintf("%s in line: %s, for %s", ordinal(w.Position), w.Holder, span(max(0, now.Sub(w.Since))))
		if w.Priority != 0 {
			text += fmt.Sprintf(", priority %d", w.Priority)
		}
		rows = append(rows, []string{"waiting", text})
	}
	return rows
}
