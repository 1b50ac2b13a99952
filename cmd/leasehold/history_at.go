package main

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/past"
	"github.com/leasehold/leasehold/wire"
)

// historyAt prints who held a resource, or all leases, at a moment.
func (a *app) historyAt(ctx context.Context, s leasehold.Store, f historyFlags) error {
	historian, err := power[leasehold.Historian](s, "history")
	if err != nil {
		return err
	}
	at, err := parseMoment("at", f.at, time.Now())
	if err != nil {
		return err
	}
	r := f.request
	if r.Resource != "" {
		answer, err := past.Resource(ctx, historian, r.Resource, at, nil)
		switch {
		case err != nil:
			return err
		case a.json:
			return a.printJSON(wire.FromPast(answer))
		}
		return a.printPast(answer)
	}
	page, err := past.Table(ctx, historian, past.TableRequest{Time: at, Prefix: r.Prefix, Holder: r.Holder, Limit: r.Limit, Cursor: r.Cursor}, nil)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(wire.FromPastPage(page))
	}
	return a.printPastPage(page)
}

// moment formats a time of the past with its fraction.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.999Z")
}

func (a *app) printPast(p past.Answer) error {
	rows := [][]string{{"resource", p.Resource}, {"at", moment(p.Time)}}
	switch {
	case p.Known == past.NotRetained:
		rows = append(rows, []string{"status", "not retained: " + p.Why})
	case p.Known == past.Uncertain:
		rows = append(rows, []string{"status", "unknown: " + p.Why})
	case !p.Locked():
		rows = append(rows, []string{"status", leasehold.StateAvailable.String()})
	}
	for _, l := range p.Leases {
		rows = append(rows, pastRows(l)...)
	}
	if p.Last != nil {
		l := *p.Last
		rows = append(rows, []string{"last held by", fmt.Sprintf("%s, token %d", l.Holder, l.Token)})
		if !l.EndedAt.IsZero() {
			rows = append(rows, []string{"ended", string(l.Ended) + " at " + moment(l.EndedAt) + because(l.Reason)})
		}
	}
	for _, w := range p.Waiters {
		end := "granted"
		if !w.Granted {
			end = "ended without a grant" + because(w.Reason)
		}
		rows = append(rows, []string{"waiting", fmt.Sprintf("%s since %s, %s at %s", w.Holder, moment(w.Since), end, moment(w.Until))})
	}
	if err := table(a.out, rows); err != nil {
		return err
	}
	a.noteRetained(p.Retained)
	return nil
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + visible(reason) + ")"
}

// pastRows describes one lease that covered the resource.
func pastRows(l past.Lease) [][]string {
	name := leaseName(leasehold.Lease{Resource: l.Resource, Claims: l.Claims})
	rows := [][]string{
		{"held by", fmt.Sprintf("%s, token %d, as %s", l.Holder, l.Token, name)},
		{"status", l.State.String()},
		{"acquired", moment(l.AcquiredAt)},
		{"renewals", fmt.Sprint(l.Renewals)},
		{"planned end", plannedEnd(l)},
	}
	if l.Known != past.Certain {
		rows[1][1] = "unknown, last known as " + l.State.String()
	}
	return rows
}

func plannedEnd(l past.Lease) string {
	if l.Endless {
		return "never"
	}
	return moment(l.ExpiresAt)
}

func (a *app) printPastPage(p past.Page) error {
	switch p.Known {
	case past.NotRetained:
		a.note("not retained: the retained history begins after %s", moment(p.Time))
	case past.Uncertain:
		a.note("no records were kept at %s: leases may be missing", moment(p.Time))
	}
	rows := [][]string{{"RESOURCE", "COVERS", "HOLDER", "TOKEN", "STATUS", "ACQUIRED", "PLANNED END", "RENEWED"}}
	for _, l := range p.Leases {
		status := l.State.String()
		if l.Known != past.Certain {
			status = "unknown"
		}
		rows = append(rows, []string{l.Resource, orDash(claimList(l.Claims)), l.Holder, fmt.Sprint(l.Token), status, moment(l.AcquiredAt), plannedEnd(l), fmt.Sprint(l.Renewals)})
	}
	switch {
	case len(p.Leases) > 0:
		if err := table(a.out, rows); err != nil {
			return err
		}
	case p.Known == past.Certain:
		a.note("no leases at %s", moment(p.Time))
	}
	a.noteRetained(p.Retained)
	a.noteMore(p.Cursor)
	return nil
}

func (a *app) noteRetained(r past.Retained) {
	if r.Incomplete {
		a.note("incomplete: there are more records than were read; leases from before %s may be missing", moment(r.ReadTo))
	}
	if r.Purged && !r.From.IsZero() {
		a.note("the retained history begins at %s", moment(r.From))
	}
}
