package storetest_test

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

func healthCheck(resource string) bool { return strings.HasPrefix(resource, "__healthcheck__") }

func (n *naive) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	o, now, err := n.run(ctx, r.Validate(), func(now machine.Instant) machine.Outcome {
		return n.breakAll(now, r)
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return n.shown(o.Row, now), nil
}

func (n *naive) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	o, now, err := n.run(ctx, r.Validate(), func(now machine.Instant) machine.Outcome {
		return machine.Change(now, r, n.row(n.where(r.Resource, r.ID)), n.known(r.Proposed), n.policy())
	})
	if err != nil {
		return leasehold.Lease{}, err
	}
	return o.Row.Owned(now), nil
}

func (n *naive) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	var cycle []leasehold.WaitEdge
	o, now, err := n.run(ctx, r.ValidateAll(), func(now machine.Instant) machine.Outcome {
		row := n.row(n.where(r.Resource, r.ID))
		o := machine.Transfer(now, r, n.fresh(), row, n.known(r.Proposed), n.policy())
		if cycle = n.cycleAfter(o); cycle != nil {
			return machine.Outcome{Row: row, Reason: leasehold.ReasonDeadlock}
		}
		return o
	})
	if cycle != nil {
		return leasehold.Lease{}, deadlock(cycle)
	}
	if err != nil {
		return leasehold.Lease{}, err
	}
	if r.Proposed.IsZero() {
		return o.Row.Owned(now), nil
	}
	return o.Row.Lease(now), nil
}

func (n *naive) Find(_ context.Context, id leasehold.ID) (leasehold.Lease, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.known(id); k != nil && k.ID == id {
		return k.Owned(n.now()), nil
	}
	return leasehold.Lease{}, &leasehold.Error{Reason: leasehold.ReasonNotFound}
}

func (n *naive) ReleaseHolder(_ context.Context, holder, why string) (int, error) {
	return n.force(holder, why, func(h string) bool { return h == holder })
}

func (n *naive) ReleaseWithChildren(_ context.Context, holder, why string) (int, error) {
	return n.force(holder, why, func(h string) bool { return h == holder || strings.HasPrefix(h, holder+"/") })
}

func (n *naive) force(holder, why string, ends func(string) bool) (int, error) {
	invalid := leasehold.BreakRequest{Resource: "any", Why: why}.Validate()
	if err := leasehold.CheckHolder(holder); err != nil {
		invalid = err
	}
	if invalid != nil {
		return 0, invalid
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now, count := n.now(), 0
	for _, row := range n.rows {
		if ends(row.Holder) && row.At(now).State.Locked() {
			n.write(now, machine.ForceRelease(now, row, why))
			count++
		}
	}
	n.serve() // all have ended before anybody gets one
	return count, nil
}

// List sorts everything each time; its cursor is the last name, marked.
func (n *naive) List(_ context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	if err := r.ValidateAll(); err != nil {
		return leasehold.LeasePage{}, err
	}
	after, ok := strings.CutPrefix(r.Cursor, "after:")
	if r.Cursor != "" && !ok {
		return leasehold.LeasePage{}, badCursor()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.now()
	var all []leasehold.Lease
	for _, row := range n.rows {
		if l := n.shown(row, now); l.Resource > after && n.listed(l, r) {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, func(a, b leasehold.Lease) int { return strings.Compare(a.Resource, b.Resource) })
	if n.flaw == sortsByFolding {
		slices.SortFunc(all, func(a, b leasehold.Lease) int {
			return strings.Compare(strings.ToLower(a.Resource), strings.ToLower(b.Resource))
		})
	}
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	if len(all) <= r.Limit {
		return leasehold.LeasePage{Leases: all}, nil
	}
	return leasehold.LeasePage{Leases: all[:r.Limit], Cursor: "after:" + all[r.Limit-1].Resource}, nil
}

func badCursor() error {
	return &leasehold.Error{Reason: leasehold.ReasonInvalid, Field: "cursor", Problem: "is not from a page before"}
}

func (n *naive) listed(l leasehold.Lease, r leasehold.ListRequest) bool {
	states := r.States
	if len(states) == 0 {
		states = []leasehold.State{leasehold.StateActive, leasehold.StateBreaking}
	}
	for k, v := range r.Metadata {
		if got, ok := l.Metadata[k]; !ok || got != v {
			return false
		}
	}
	return slices.Contains(states, l.State) && strings.HasPrefix(l.Resource, r.Prefix) &&
		(r.Resource == "" || r.Resource == l.Resource || claimsName(l.Claims, r.Resource)) &&
		(r.Namespace == "" || claimsPath(l.Claims, r.Namespace, r.Path)) && (r.Holder == "" || r.Holder == l.Holder)
}

func (n *naive) History(_ context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if err := r.Validate(); err != nil {
		return leasehold.HistoryPage{}, err
	}
	below := ^uint64(0)
	if r.Cursor != "" {
		number, ok := strings.CutPrefix(r.Cursor, "below:")
		seq, err := strconv.ParseUint(number, 10, 64)
		if !ok || err != nil {
			return leasehold.HistoryPage{}, badCursor()
		}
		below = seq
	}
	if r.Limit == 0 {
		r.Limit = leasehold.DefaultPage
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	var page leasehold.HistoryPage
	for _, record := range slices.Backward(n.history) {
		if record.Seq >= below || !recorded(record, r) {
			continue
		}
		if len(page.Records) == r.Limit {
			page.Cursor = "below:" + strconv.FormatUint(page.Records[r.Limit-1].Seq, 10)
			break
		}
		page.Records = append(page.Records, record)
	}
	return page, nil
}

func recorded(h leasehold.Record, r leasehold.HistoryRequest) bool {
	return (r.Resource == "" || r.Resource == h.Resource) && strings.HasPrefix(h.Resource, r.Prefix) &&
		(r.Holder == "" || r.Holder == h.Holder) && (r.Kind == "" || r.Kind == h.Kind) &&
		(r.Since.IsZero() || !h.At.Before(r.Since)) && (r.Until.IsZero() || h.At.Before(r.Until))
}
