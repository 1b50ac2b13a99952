package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
)

// benchTTL is long enough for the slowest store and short enough that a bench
// that was killed leaves nothing behind for long.
const benchTTL = 60 * time.Second

// measurement is the result of one round.
type measurement struct {
	Measure   string  `json:"measure"` // "pairs" or "hand-offs"
	Workers   int     `json:"workers"`
	Count     int     `json:"count"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
	P50       float64 `json:"p50_ms"`
	P95       float64 `json:"p95_ms"`
	P99       float64 `json:"p99_ms"`
	Max       float64 `json:"max_ms"`
	Rounds    int     `json:"rounds"`
}

func (m measurement) sentence() string {
	return fmt.Sprintf("%d workers, %.0f %s/s, p50 %s, p99 %s", m.Workers, m.PerSecond, m.Measure, millis(m.P50), millis(m.P99))
}

// summarize makes a measurement of the times that workers noted.
func summarize(measure string, workers int, took time.Duration, times [][]time.Duration) measurement {
	all := slices.Concat(times...)
	slices.Sort(all)
	m := measurement{Measure: measure, Workers: workers, Count: len(all), Seconds: took.Seconds(), Rounds: 1}
	if len(all) == 0 {
		return m
	}
	m.PerSecond = float64(len(all)) / took.Seconds()
	at := func(q float64) float64 {
		i := min(len(all)-1, int(q*float64(len(all))))
		return float64(all[i]) / float64(time.Millisecond)
	}
	m.P50, m.P95, m.P99, m.Max = at(0.50), at(0.95), at(0.99), at(1)
	return m
}

// medianOf returns the round in the middle by throughput: figures of one round
// belong together.
func medianOf(rounds []measurement) measurement {
	sorted := slices.Clone(rounds)
	slices.SortFunc(sorted, func(a, b measurement) int {
		switch {
		case a.PerSecond < b.PerSecond:
			return -1
		case a.PerSecond > b.PerSecond:
			return 1
		}
		return 0
	})
	m := sorted[len(sorted)/2]
	m.Rounds = len(rounds)
	return m
}

// crew runs workers until the first error or until the time is up, after each
// has gone once around without being measured: connections are made then.
func crew(ctx context.Context, n int, d time.Duration, work func(ctx context.Context, worker int) (time.Duration, error)) ([][]time.Duration, time.Duration, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var warm, done sync.WaitGroup
	var over atomic.Bool
	begin := make(chan struct{})
	times := make([][]time.Duration, n)
	warm.Add(n)
	for i := range n {
		done.Go(func() {
			_, err := work(ctx, i)
			warm.Done()
			for <-begin; err == nil && !over.Load(); {
				var took time.Duration
				if took, err = work(ctx, i); err == nil && took > 0 && !over.Load() {
					times[i] = append(times[i], took)
				}
			}
			if err != nil && !over.Load() {
				cancel(err)
			}
		})
	}
	warm.Wait()
	start := time.Now()
	close(begin)
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	took := time.Since(start)
	over.Store(true)
	done.Wait()
	return times, took, context.Cause(ctx)
}

// measurePairs gives every worker a resource of its own.
func measurePairs(ctx context.Context, s leasehold.Store, f benchFlags, workers int) (measurement, error) {
	times, took, err := crew(ctx, workers, f.duration, func(ctx context.Context, i int) (time.Duration, error) {
		r := leasehold.AcquireRequest{Resource: fmt.Sprintf("%s:%d", f.prefix, i), Holder: fmt.Sprintf("bench:%d", i), TTL: benchTTL}
		begin := time.Now()
		g, err := s.Acquire(ctx, r)
		if err == nil {
			_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: r.Resource})
		}
		return time.Since(begin), err
	})
	return summarize("pairs", workers, took, times), err
}

// measureHandoff lets all workers wait for one resource. The clock is this
// process's: the releaser and the next holder are both here.
func measureHandoff(ctx context.Context, s leasehold.Store, f benchFlags, workers int) (measurement, error) {
	waiter, err := power[leasehold.Waiter](s, "acquire")
	if err != nil {
		return measurement{}, err
	}
	var released atomic.Int64 // when the last release began
	epoch := time.Now()
	resource := f.prefix + ":handoff"
	times, took, err := crew(ctx, workers, f.duration, func(ctx context.Context, i int) (time.Duration, error) {
		g, err := waiter.Wait(ctx, leasehold.AcquireRequest{
			Resource: resource, Holder: fmt.Sprintf("bench:%d", i), TTL: benchTTL, Timeout: leasehold.NoTimeout,
		})
		if err != nil {
			return 0, err
		}
		var took time.Duration
		if g.Waited > 0 { // it stood in line: this was a hand-off
			took = time.Since(epoch) - time.Duration(released.Load())
		}
		released.Store(int64(time.Since(epoch)))
		_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: resource})
		if errors.Is(err, leasehold.ErrUnknown) {
			err = fmt.Errorf("the answer to a release was lost: %w", err)
		}
		return took, err
	})
	return summarize("hand-offs", workers, took, times), err
}
