package redis

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// maxPause is how long the sweep sleeps at most. Leases that this process granted
// or renewed wake it in time; this is for those of a process that died.
const maxPause = 30 * time.Second

// sweeper records expiries as they fall due, purges the history and tidies the
// indexes. No lease depends on it.
type sweeper struct {
	wake chan struct{} // of one: an end is nearer than planned

	mu   sync.Mutex
	next time.Time // when the loop looks again
}

// ends says that a lease ends after d.
func (w *sweeper) ends(d time.Duration) {
	if d == leasehold.Infinite {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := time.Now().Add(d + time.Millisecond); at.Before(w.next) {
		w.next = at
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// plan says when the loop looks again.
func (w *sweeper) plan(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = time.Now().Add(d)
}

func (w *sweeper) pause() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Until(w.next)
}

// sweepLoop runs until the store is closed.
func (s *Store) sweepLoop(ctx context.Context) {
	tidied := time.Now()
	for {
		timer := time.NewTimer(max(time.Millisecond, s.sweeper.pause()))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-s.sweeper.wake:
			timer.Stop()
			continue
		case <-timer.C:
		}
		s.sweeper.plan(maxPause) // ends that come while it looks may be nearer
		next, interval, err := s.sweepOnce(ctx, tidied)
		if err != nil {
			s.opts.Logger.Debug("redis: the sweep failed and will be repeated", "err", err)
			continue
		}
		if time.Since(tidied) >= interval {
			tidied = time.Now()
		}
		s.sweeper.ends(next)
	}
}

// sweepOnce records what is due, and tidies if the interval since the last time
// is over. It answers when the next end is due.
func (s *Store) sweepOnce(ctx context.Context, tidied time.Time) (next, interval time.Duration, err error) {
	interval, err = s.cleanupInterval(ctx)
	if err != nil {
		return maxPause, 0, err
	}
	tidy := time.Since(tidied) >= interval
	next = maxPause
	if s.recording {
		if next, err = s.recordEnds(ctx, tidy); err != nil {
			return maxPause, 0, err
		}
	}
	if tidy {
		if err := s.tidy(ctx); err != nil {
			return maxPause, 0, err
		}
	}
	return min(next, interval), interval, nil
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
	return maxPause, nil
}

// recordEnds writes the expiries that are due, and answers when the next is.
func (s *Store) recordEnds(ctx context.Context, all bool) (time.Duration, error) {
	for {
		result, err := s.runIndex(ctx, expireScript, flag(all))
		if err != nil {
			return 0, err
		}
		switch ms, _ := result.(int64); {
		case ms < 0:
			return maxPause, nil
		case ms > 0:
			return time.Duration(ms) * time.Millisecond, nil
		}
	}
}

// tidy purges the history and drops names without a lease from the list.
func (s *Store) tidy(ctx context.Context) error {
	for s.recording {
		n, err := s.runIndex(ctx, purgeScript)
		if err != nil {
			return err
		}
		if count, _ := n.(int64); count == 0 {
			break
		}
	}
	from := "-"
	for {
		step, err := s.listStep(ctx, from, "+", scanStep)
		if err != nil {
			return err
		}
		if step.names < scanStep {
			return nil
		}
		from = "(" + step.last
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Duration(rand.IntN(20)) * time.Millisecond): // leases go first
		}
	}
}
