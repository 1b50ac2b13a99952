package sqltx

import (
	"context"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// Wait implements leasehold.Waiter. Waiters of one store are served in order; among
// stores the first to try is first.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if s.traits.NoWaiting {
		return leasehold.Grant{}, s.failures.New("acquire", r.Resource, leasehold.ReasonUnsupported, nil)
	}
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, s.failures.Invalid("acquire", r.Resource, err)
	}
	r = detached(r)
	f, err := s.read(ctx, "acquire", Need{})
	if err != nil {
		return leasehold.Grant{}, err
	}
	values := s.control.decode(f.Control)
	if !values.Blocking {
		return leasehold.Grant{}, s.failures.New("acquire", r.Resource, leasehold.ReasonBlockingDisabled, nil)
	}
	if r.Timeout = values.Fill(r).Timeout; r.Timeout == 0 {
		s.queues.Yield(ctx, r.Resource)
		return s.tryAcquire(ctx, r, nobodyWaits)
	}
	s.followNotices()
	return s.queues.Wait(ctx, r)
}

// Waiting returns how many wait for the resource in this process. Those of other
// processes are not known here.
func (s *Store) Waiting(resource string) int { return s.queues.Waiting(resource) }

// notifies reports whether a waiter's note is of use.
func (s *Store) notifies() bool {
	_, ok := s.db.(Notifier)
	return ok
}

// tryFirst is tryAcquire for the first waiter.
func (s *Store) tryFirst(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.tryAcquire(ctx, r, firstWaiter)
}

// tryRepeat is tryAcquire for a waiter that joins behind others with an id.
func (s *Store) tryRepeat(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.tryAcquire(ctx, r, laterWaiter)
}

// recordFailure records a wait that ended without a grant.
func (s *Store) recordFailure(ctx context.Context, r leasehold.AcquireRequest, why string, waited time.Duration) {
	if s.traits.NoHistory {
		return
	}
	// A record of a failure is not worth more than one try.
	_ = s.change(ctx, "acquire", Need{Resource: r.Resource}, func(v *settings.Values, f Found) Write {
		return failed(v, f, r, why, waited)
	})
}

func failed(v *settings.Values, f Found, r leasehold.AcquireRequest, why string, waited time.Duration) Write {
	out := machine.Expire(f.Now, f.Row)
	state := out.Row.State
	record := leasehold.Record{
		At: f.Now.WallTime(), Kind: leasehold.KindFailed, Resource: r.Resource, Holder: r.Holder,
		Before: state, After: state, Why: why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited.Milliseconds(), 10)},
	}
	return Write{Records: []leasehold.Record{record}, Kept: []bool{v.Keeps(record.Kind)}}
}
