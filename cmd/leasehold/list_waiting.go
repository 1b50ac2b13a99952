package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/wire"
)

// listWaiting prints who waits, and for whom.
func (a *app) listWaiting(ctx context.Context, s leasehold.Store, limit int) error {
	lister, err := power[leasehold.WaitLister](s, "waits")
	if err != nil {
		return err
	}
	list, err := lister.Waits(ctx, limit)
	switch {
	case err != nil:
		return err
	case a.json:
		return a.printJSON(wire.FromWaitList(list))
	case len(list.Waits) == 0:
		a.note("nobody waits")
		return nil
	}
	rows := [][]string{{"HOLDER", "WAITS FOR", "SINCE", "POSITION", "PRIORITY", "BEHIND"}}
	now := time.Now()
	for _, w := range list.Waits {
		rows = append(rows, []string{w.Holder, waitsFor(w), ago(w.Since, now), position(w), fmt.Sprint(w.Priority), behind(w)})
	}
	if err := table(a.out, rows); err != nil {
		return err
	}
	if more := list.Total - len(list.Waits); more > 0 {
		a.note("%d more wait: --limit shows up to %d", more, leasehold.MaxPage)
	}
	return nil
}

func waitsFor(w leasehold.Wait) string {
	if len(w.Claims) > 0 {
		return claimList(w.Claims)
	}
	return w.Resource
}

func position(w leasehold.Wait) string {
	if w.Position == 0 {
		return "-"
	}
	return ordinal(w.Position)
}

// behind says what a waiter waits for: holders of leases, and waiters that come first.
func behind(w leasehold.Wait) string {
	var b []string
	for _, of := range w.Behind {
		if of.Token == 0 {
			b = append(b, of.Holder+", who waits")
			continue
		}
		b = append(b, fmt.Sprintf("%s (%s, token %d)", of.Holder, quote(of.Resource), of.Token))
	}
	if w.BehindMore {
		b = append(b, "more")
	}
	return orDash(strings.Join(b, "; "))
}
