package cas

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// fillEnds notes when leases end, of a service that has to be asked.
func (s *Store) fillEnds(ctx context.Context, items []Item) error {
	timer, ok := s.backend.(Timer)
	if !ok || len(items) == 0 {
		return nil
	}
	return timer.Remaining(ctx, items)
}

// fillEnd is fillEnds of one item, if there is one.
func (s *Store) fillEnd(ctx context.Context, item *Item) error {
	if item.Version == "" {
		return nil
	}
	one := []Item{*item}
	err := s.fillEnds(ctx, one)
	*item = one[0]
	return err
}

// withEnd is the outcome that shows the lease in the way with its end.
func (r *runner) withEnd(ctx context.Context, item Item, out machine.Outcome) (machine.Outcome, error) {
	if r.op.timed || !out.Row.State.Locked() || out.Row.Token != item.Row.Token {
		return out, nil
	}
	if err := r.fillEnd(ctx, &item); err != nil {
		return out, r.failures.Complete(r.op.name, r.op.resource, err, false)
	}
	out.Row.Ends = item.Row.Ends
	return out, nil
}

// latest is the row with the latest end that it may have: a break must not end a
// lease before what its holder was told, and a Timer says less than that.
func (s *Store) latest(row machine.Row, now machine.Instant) machine.Row {
	if row.Ends == machine.Never || s.traits.TimerGrain == 0 || !row.State.Locked() {
		return row
	}
	row.Ends += machine.Time(s.traits.TimerGrain)
	if row.TTL != leasehold.Infinite {
		row.Ends = min(row.Ends, now.Clock+machine.Time(row.TTL))
	}
	return row
}

// lasts is how long the lease lasts after a write; zero: the write keeps its end.
func (s *Store) lasts(a attempt) time.Duration {
	last := a.out.Steps[len(a.out.Steps)-1]
	switch last.Kind {
	case leasehold.KindAcquired, leasehold.KindRenewed:
		return last.Row.TTL
	case leasehold.KindBreaking:
		if last.Row.Ends < s.latest(a.before, a.now).Ends {
			return max(1, time.Duration(last.Row.Ends-a.now.Clock))
		}
	}
	return 0
}

// restarted is the answer of a service that ends leases itself, at now. A lease that
// the write started again lasts at least its ttl since the call was made, which is
// what its owner counts from; of any other the rest is as it was read.
func restarted(res result, now machine.Instant) result {
	switch last := res.out.Steps[len(res.out.Steps)-1]; last.Kind {
	case leasehold.KindAcquired, leasehold.KindRenewed:
		res.now = now
		if res.out.Row.Ends != machine.Never {
			res.out.Row.Ends = now.Clock + machine.Time(last.Row.TTL)
		}
	}
	return res
}

// numbered is the attempt with the token that its write got, of a service that
// numbers its writes.
func (r *runner) numbered(a attempt, token uint64) attempt {
	if r.traits.OwnTokens && a.out.Granted {
		a.out.Row.Token = token
	}
	return a
}

// isNumber reports whether the row still has the token that the attempt got.
func (r *runner) isNumber(a attempt, row machine.Row) bool {
	return !r.traits.OwnTokens || !a.out.Granted || row.ID == a.out.Row.ID || row.Former == a.out.Row.ID && !row.Handed
}

// resolve asks what became of writes in doubt whose marks are not to be seen, and
// returns the one that happened. The item may be gone, with its marks.
func (r *runner) resolve(ctx context.Context, item Item) (*attempt, error) {
	resolver, ok := r.backend.(Resolver)
	if !ok || !r.doubt || item.Version == r.version && item.Version != "" {
		return nil, nil // a write under the same version shuts it out
	}
	for i, a := range r.attempts {
		if !a.doubt {
			continue
		}
		token, happened, err := resolver.Resolve(ctx, a.mark)
		if err != nil {
			return nil, r.failures.Complete(r.op.name, r.op.resource, err, false)
		}
		if happened {
			a = r.numbered(a, token)
			return &a, nil
		}
		r.attempts[i].doubt = false
	}
	r.doubt = false
	return nil, nil
}

// confirm makes sure of a write whose answer was lost and whose mark was found.
func (r *runner) confirm(ctx context.Context, a attempt) error {
	resolver, ok := r.backend.(Resolver)
	if !ok || !a.doubt {
		return nil
	}
	return resolver.Confirm(ctx, a.mark)
}
