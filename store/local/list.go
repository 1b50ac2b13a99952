package local

import (
	"context"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// listShare is how much of the processors all lists may take together.
const listShare = 0.15

// List implements leasehold.Lister. It copies in steps and never holds the lock
// for a scan. Lists take turns, so that however many there are, other requests
// wait for one step at most.
func (e *Engine) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	l, err := newListing(r)
	if err == nil {
		err = e.inSteps(ctx, func(now machine.Instant) bool { return e.listStep(l, now) })
	}
	if err != nil {
		return leasehold.LeasePage{}, e.opError("list", "", err)
	}
	return l.page, nil
}

// inSteps calls step in its turns until it is done, and then waits until all that the
// steps saw is durable.
func (e *Engine) inSteps(ctx context.Context, step func(machine.Instant) (done bool)) (err error) {
	var seen seenBatches
	for done := false; !done && err == nil; {
		var b *batch
		err = e.lists.Do(ctx, func() (err error) {
			done, b, err = e.oneStep(ctx, step)
			return err
		})
		seen.add(b)
	}
	if err == nil {
		err = seen.durable(ctx)
	}
	if err != nil && leasehold.ReasonOf(err) == "" {
		err = unavailable(err) // the context ended before its turn came
	}
	return err
}

// oneStep calls step under one hold of the lock, and returns the batch that what it saw
// depends on.
func (e *Engine) oneStep(ctx context.Context, step func(machine.Instant) (done bool)) (done bool, _ *batch, _ error) {
	if ctx.Err() != nil {
		return false, nil, unavailable(context.Cause(ctx))
	}
	if err := e.lockReady(); err != nil {
		return false, nil, err
	}
	defer e.mu.Unlock()
	done = step(e.clock.now())
	return done, e.batches.latest(), nil
}

// listStep continues the listing, and reports whether that is all.
func (e *Engine) listStep(l *listing, now machine.Instant) (done bool) {
	steps := 0
	each := func(ent *entry) bool {
		steps++
		l.from = ent.row.Resource
		if steps > stepSize {
			return false // continue from this one
		}
		return l.add(ent.row, now)
	}
	switch {
	case l.Resource != "":
		for _, ent := range e.table.covering(l.Resource) {
			if ent.row.Resource >= l.from && !each(ent) {
				break
			}
		}
	case l.Holder != "":
		e.table.ofHolder(l.Holder, l.from, each)
	default:
		e.table.from(l.from, each)
	}
	return l.done || steps <= stepSize
}

// listing is a List under way.
type listing struct {
	leasehold.ListRequest
	from string // the next resource to look at
	page leasehold.LeasePage
	done bool
}

func newListing(r leasehold.ListRequest) (*listing, error) {
	if err := r.ValidateAll(); err != nil {
		return nil, err
	}
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	if len(r.States) == 0 {
		r.States = []leasehold.State{leasehold.StateActive, leasehold.StateBreaking}
	}
	l := &listing{ListRequest: r, from: r.Prefix}
	if r.Cursor != "" {
		from, err := lists.ParseCursorOf("l", r.Cursor)
		if err != nil || leasehold.CheckResource(from) != nil {
			return nil, lists.BadCursor()
		}
		l.from = max(l.from, from)
	}
	return l, nil
}

// add appends the row to the page if it matches, and says whether to continue.
func (l *listing) add(row machine.Row, now machine.Instant) bool {
	if !strings.HasPrefix(row.Resource, l.Prefix) {
		l.done = row.Resource > l.Prefix && l.Resource == ""
		return !l.done
	}
	if !l.matches(row.At(now)) {
		return true
	}
	if len(l.page.Leases) == l.Limit {
		l.page.Cursor = lists.CursorOf("l", row.Resource)
		l.done = true
		return false
	}
	l.page.Leases = append(l.page.Leases, row.Lease(now))
	return true
}

func (l *listing) matches(row machine.Row) bool {
	if l.Holder != "" && row.Holder != l.Holder || l.Namespace != "" && !l.overlaps(row.Claims) {
		return false
	}
	for k, v := range l.Metadata {
		if have, ok := row.Metadata[k]; !ok || have != v {
			return false
		}
	}
	return slices.Contains(l.States, row.State)
}

// overlaps applies the filter by namespace and path.
func (l *listing) overlaps(claims []leasehold.Claim) bool {
	return slices.ContainsFunc(claims, func(c leasehold.Claim) bool {
		return c.Namespace == l.Namespace &&
			(l.Path == "" || machine.Overlaps(c, leasehold.Claim{Namespace: l.Namespace, Pattern: l.Path}))
	})
}
