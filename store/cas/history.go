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
		return leasehold.HistoryPage{}, s.failures.New("history", "", leasehold.ReasonUnsupported, nil)
	}
	if err := r.Validate(); err != nil {
		return leasehold.HistoryPage{}, s.failures.Invalid("history", "", err)
	}
	if err := s.calls.Start("history", ""); err != nil {
		return leasehold.HistoryPage{}, err
	}
	defer s.calls.Done()
	page, err := h.History(ctx, r)
	if err != nil {
		return leasehold.HistoryPage{}, s.failures.Read(ctx, "history", "", err)
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
	item, err := s.readItem(ctx, "acquire", r.Resource)
	if err != nil {
		return // a record of a failure is not worth more
	}
	now := instant(item.Now)
	state := item.Row.At(now).State
	_ = h.Append(ctx, s.record(leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindFailed, Resource: r.Resource, Holder: r.Holder,
		Before: state, After: state, Why: why,
		Details: map[string]string{"waited_ms": strconv.FormatInt(waited.Milliseconds(), 10)},
	}, item.Settings))
}

// sweepPage is how many items Cleanup reads at a time.
const sweepPage = 500

// Cleanup implements leasehold.Cleaner: it records ends that are due, forgets what
// ended more than an hour ago, and purges the history. It reads every item.
func (s *Store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	return s.cleanup(ctx, true)
}

// cleanup is Cleanup. If ends is false, ends stay unrecorded.
func (s *Store) cleanup(ctx context.Context, ends bool) (cleaned leasehold.Cleaned, err error) {
	if err := s.calls.Start("cleanup", ""); err != nil {
		return cleaned, err
	}
	defer s.calls.Done()
	if err = s.sweepAll(ctx, ends, &cleaned); err == nil {
		cleaned.HistoryPurged, err = s.purge(ctx)
	}
	if err != nil {
		return cleaned, s.failures.Read(ctx, "cleanup", "", err)
	}
	return cleaned, nil
}

// sweepAll tidies every item.
func (s *Store) sweepAll(ctx context.Context, ends bool, cleaned *leasehold.Cleaned) error {
	if s.traits.OwnExpiry {
		return nil // nothing stays behind
	}
	text, err := s.settingsText(ctx)
	if err != nil {
		return err
	}
	for after := ""; ; {
		items, err := s.backend.Scan(ctx, "", after, sweepPage)
		if err != nil {
			return err
		}
		for _, item := range items {
			item.Settings = text
			if !ends && item.Row.State.Locked() {
				continue
			}
			if err := s.sweep(ctx, item, cleaned); err != nil {
				return err
			}
		}
		if len(items) < sweepPage {
			return nil
		}
		after = items[len(items)-1].Row.Resource
	}
}

// settingsText reads the settings, of a backend that keeps them.
func (s *Store) settingsText(ctx context.Context) (text string, err error) {
	if s.config != nil {
		text, _, err = s.config.LoadSettings(ctx)
	}
	return text, err
}

// purge drops what is past its retention, and answers how much.
func (s *Store) purge(ctx context.Context) (int, error) {
	purger, ok := s.backend.(Purger)
	if !ok || s.config == nil {
		return 0, nil
	}
	text, now, err := s.config.LoadSettings(ctx)
	if err != nil {
		return 0, err
	}
	values, err := s.values(text)
	if err != nil {
		return 0, err
	}
	n, err := purger.Purge(ctx, now.Add(-values.Retention), values.HistoryMaxRows)
	if n > 0 {
		s.watches.wake()
	}
	return n, err
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
		Row: next, Marks: addMark(newMark(), item.Marks), Records: s.records(now, out.Steps, item.Settings),
		Settings: item.Settings,
	})
	if errors.Is(err, ErrRaced) {
		return nil
	}
	if err == nil && len(out.Steps) > 0 {
		cleaned.Expired++
		s.watches.wake()
		s.queues.Wake(item.Row.Resource)
	}
	if err == nil && forget {
		cleaned.Forgotten++
	}
	return err
}
