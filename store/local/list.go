package local

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// listShare is how much of the processors all lists may take together.
const listShare = 0.15

// List implements leasehold.Lister. It copies in steps and never holds the lock
// for a scan. Lists take turns, so that however many there are, other requests
// wait for one step at most.
func (e *Engine) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	l, err := newListing(r)
	if err != nil {
		return leasehold.LeasePage{}, e.opError("list", "", err)
	}
	var seen seenBatches
	for !l.done && err == nil {
		var b *batch
		err = e.lists.Do(ctx, func() (err error) {
			b, err = e.listStep(ctx, l)
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
	if err != nil {
		return leasehold.LeasePage{}, e.opError("list", "", err)
	}
	return l.page, nil
}

// listStep continues the listing under one hold of the lock. It returns the
// batch that what it saw depends on.
func (e *Engine) listStep(ctx context.Context, l *listing) (*batch, error) {
	if ctx.Err() != nil {
		return nil, unavailable(context.Cause(ctx))
	}
	if err := e.lockReady(); err != nil {
		return nil, err
	}
	defer e.mu.Unlock()
	now := e.clock.now()
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
	l.done = l.done || steps <= stepSize
	return e.batches.latest(), nil
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
		from, err := parseCursor("l", r.Cursor)
		if err != nil || leasehold.CheckResource(from) != nil {
			return nil, badCursor()
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
		l.page.Cursor = cursor("l", row.Resource)
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

// cursor makes an opaque cursor. The kind keeps those of lists and histories
// apart.
func cursor(kind, position string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + position))
}

func parseCursor(kind, c string) (string, error) {
	text, err := base64.RawURLEncoding.DecodeString(c)
	position, ours := strings.CutPrefix(string(text), kind+":")
	if err != nil || !ours || cursor(kind, position) != c { // the decoder is lenient
		return "", badCursor()
	}
	return position, nil
}

func badCursor() error {
	return leasehold.Invalid("cursor", "is not one that this list gave out; start again without it")
}
