package redis

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/internal/sweeper"
)

// sweepOnce records expiries that are due, and purges the history and tidies the
// indexes if that is longer ago than the interval. It answers when the next end is due.
// No lease depends on it.
func (s *Store) sweepOnce(ctx context.Context, ago time.Duration) (next time.Duration, tidied bool, err error) {
	defer func() {
		if err != nil {
			s.opts.Logger.Debug("redis: the sweep failed and will be repeated", "err", err)
		}
	}()
	interval, err := s.cleanupInterval(ctx)
	if err != nil {
		return 0, false, err
	}
	tidied, next = ago >= interval, sweeper.MaxPause
	if s.recording {
		if _, next, err = s.recordEnds(ctx, tidied); err != nil {
			return 0, false, err
		}
	}
	if tidied {
		if _, err = s.tidy(ctx); err != nil {
			return 0, false, err
		}
	}
	return min(next, interval), tidied, nil
}

func (s *Store) cleanupInterval(ctx context.Context) (time.Duration, error) {
	settings, err := s.Settings(ctx)
	if err != nil {
		return 0, err
	}
	for _, setting := range settings {
		if setting.Key == leasehold.SettingCleanupInterval {
			return time.Duration(setting.Value.(int64)) * time.Second, nil
		}
	}
	return sweeper.MaxPause, nil
}

// Cleanup implements leasehold.Cleaner.
func (s *Store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	var cleaned leasehold.Cleaned
	var err error
	if s.together {
		cleaned.Expired, _, err = s.recordEnds(ctx, true)
	} else {
		cleaned.Expired, err = s.uncount(ctx)
	}
	if err == nil {
		cleaned.HistoryPurged, err = s.tidy(ctx)
	}
	if err != nil {
		return cleaned, s.failure("cleanup", "", err)
	}
	return cleaned, nil
}

// uncount drops ended leases from the counts on a Cluster, and answers how many
// there were.
func (s *Store) uncount(ctx context.Context) (int, error) {
	result, err := s.runKeys(ctx, uncountScript, []string{s.keys.ends})
	n, _ := result.(int64)
	return int(n), err
}

// recordEnds writes the expiries that are due, and answers how many there were and
// when the next is due.
func (s *Store) recordEnds(ctx context.Context, all bool) (count int, next time.Duration, err error) {
	for {
		result, err := s.runIndex(ctx, expireScript, flag(all))
		if err != nil {
			return count, 0, err
		}
		n, ms, err := parseEnds(result)
		count += n
		switch {
		case err != nil:
			return count, 0, err
		case ms < 0:
			return count, sweeper.MaxPause, nil
		case ms > 0:
			return count, time.Duration(ms) * time.Millisecond, nil
		}
	}
}

// parseEnds reads what expire.lua returned.
func parseEnds(result any) (count int, ms int64, err error) {
	parts, _ := result.([]any)
	if len(parts) != 2 {
		return 0, 0, fmt.Errorf("the ends are %T of %d parts, want 2", result, len(parts))
	}
	n, okCount := parts[0].(int64)
	ms, okNext := parts[1].(int64)
	if !okCount || !okNext {
		return 0, 0, fmt.Errorf("the ends are %T and %T, want numbers", parts[0], parts[1])
	}
	return int(n), ms, nil
}

// tidy purges the history and drops names without a lease from the list. It
// answers how many records it purged.
func (s *Store) tidy(ctx context.Context) (purged int, err error) {
	for s.recording {
		result, err := s.runIndex(ctx, purgeScript)
		if err != nil {
			return purged, err
		}
		n, _ := result.(int64)
		if n == 0 {
			break
		}
		purged += int(n)
	}
	from := "-"
	for {
		step, err := s.listStep(ctx, from, "+", scanStep)
		if err != nil || step.names < scanStep {
			return purged, err
		}
		from = "(" + step.last
		if !sleep.For(ctx, time.Duration(rand.IntN(20))*time.Millisecond) { // leases go first
			return purged, ctx.Err()
		}
	}
}
