package cas

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
)

// sweepOnce records what is due, and cleans up if that is longer ago than the
// interval. It answers when to look again. No lease depends on it, and requests report
// what is wrong.
func (s *Store) sweepOnce(ctx context.Context, ago time.Duration) (next time.Duration, cleaned bool, err error) {
	values, _, err := s.readSettings(ctx, "cleanup")
	if err != nil {
		return 0, false, err
	}
	if cleaned = ago >= values.CleanupInterval; cleaned {
		ago = 0
		if _, err := s.cleanup(ctx, values.AutoExpire); err != nil {
			return 0, false, err
		}
	}
	next = values.CleanupInterval - ago
	if values.AutoExpire {
		end, err := s.recordDue(ctx)
		if err != nil {
			return 0, false, err
		}
		if end >= 0 {
			next = min(next, end)
		}
	}
	return next, cleaned, nil
}

// dueAtOnce is how many ends are read at a time.
const dueAtOnce = 100

// recordDue records ends that are past, and answers when the next is.
func (s *Store) recordDue(ctx context.Context) (next time.Duration, err error) {
	due, ok := s.backend.(Sweeper)
	if !ok {
		return -1, nil
	}
	var cleaned leasehold.Cleaned
	for {
		items, next, err := due.Due(ctx, dueAtOnce)
		if err != nil {
			return 0, err
		}
		for _, item := range items {
			if err := s.sweep(ctx, item, &cleaned); err != nil {
				return 0, err
			}
		}
		if len(items) < dueAtOnce {
			return next, nil
		}
	}
}
