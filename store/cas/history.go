package cas

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// History implements leasehold.Historian.
func (s *Store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	h, ok := s.backend.(Historian)
	if !ok {
		return leasehold.HistoryPage{}, s.failure("history", "", leasehold.ReasonUnsupported, nil)
	}
	if err := r.Validate(); err != nil {
		return leasehold.HistoryPage{}, s.invalid("history", "", err)
	}
	if err := s.start("history", ""); err != nil {
		return leasehold.HistoryPage{}, err
	}
	defer s.running.Done()
	page, err := h.History(ctx, r)
	if err != nil {
		return leasehold.HistoryPage{}, s.readError(ctx, "history", "", err)
	}
	return page, nil
}

// recordFailure records a wait that ended without a grant. It has the service's
// time and state of the resource as they are then.
func (s *Store) recordFailure(ctx context.Context, r leasehold.AcquireRequest, why string, waited time.Duration) {
	h, ok := s.backend.(Historian)
	if !ok {
		return
	}
	row, now, err := s.read(ctx, "acquire", r.Resource)
	if err != nil {
		return // a record of a failure is not worth more
	}
	state := row.At(now).State
	_ = h.Append(ctx, leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindFailed, Resource: r.Resource, Holder: r.Holder,
		Before: state, After: state, Why: why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited.Milliseconds(), 10)},
	})
}

// sweepPage is how many items Cleanup reads at a time.
const sweepPage = 500

// Cleanup implements leasehold.Cleaner: it records ends that are due, and forgets
// what ended more than an hour ago. It reads every item.
func (s *Store) Cleanup(ctx context.Context) (cleaned leasehold.Cleaned, err error) {
	if err := s.start("cleanup", ""); err != nil {
		return cleaned, err
	}
	defer s.running.Done()
	for after := ""; ; {
		items, err := s.backend.Scan(ctx, "", after, sweepPage)
		if err != nil {
			return cleaned, s.readError(ctx, "cleanup", "", err)
		}
		for _, item := range items {
			if err := s.sweep(ctx, item, &cleaned); err != nil {
				return cleaned, s.readError(ctx, "cleanup", "", err)
			}
		}
		if len(items) < sweepPage {
			return cleaned, nil
		}
		after = items[len(items)-1].Row.Resource
	}
}

// sweep tidies one item. If others change it meanwhile it is left to them.
func (s *Store) sweep(ctx context.Context, item Item, cleaned *leasehold.Cleaned) error {
	now := instant(item.Now)
	out := machine.Expire(now, item.Row)
	next := remembered(out.Row, item.Row.Resource, now)
	forget := next.State == leasehold.StateAvailable && item.Row.State != leasehold.StateAvailable
	if len(out.Steps) == 0 && !forget {
		return nil
	}
	_, err := s.backend.Swap(ctx, item.Version, Write{
		Row: next, Marks: addMark(newMark(), item.Marks), Records: records(now, out.Steps),
	})
	if errors.Is(err, ErrRaced) {
		return nil
	}
	if err == nil && len(out.Steps) > 0 {
		cleaned.Expired++
		s.queues.Wake(item.Row.Resource)
	}
	if err == nil && forget {
		cleaned.Forgotten++
	}
	return err
}
