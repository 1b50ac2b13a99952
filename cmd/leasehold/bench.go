package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
	"github.com/spf13/cobra"
)

const benchHelp = `Measure a store through this client. Each worker acquires and releases a resource
of its own, over and over: pairs a second, and the latency of a pair.

With --handoff all workers wait in line for one resource instead, and what is
measured is the time from the start of a release to the next waiter's grant.

The leases are short-lived, but the history grows by two records a pair: measure
a store made for it.`

// benchFlags say what to measure.
type benchFlags struct {
	workers  string
	duration time.Duration
	rounds   int
	handoff  bool
	prefix   string
}

func newBench(a *app) *cobra.Command {
	f := benchFlags{duration: 5 * time.Second}
	cmd := &cobra.Command{
		Use: "bench", GroupID: groupOperate, Args: exactArgs(0),
		Short: "Measure throughput and latency of a store", Long: benchHelp,
		Example: "  leasehold bench\n  leasehold bench --workers 1,8,64 --duration 5s --rounds 5 --json\n  leasehold bench --store sqlite:/tmp/bench.db --handoff --workers 8",
	}
	flags := cmd.Flags()
	flags.StringVar(&f.workers, "workers", "1,8,64", "how many workers, one measurement for each number")
	flags.Var(durationFlag{value: &f.duration}, "duration", "how long each measurement lasts")
	flags.IntVar(&f.rounds, "rounds", 1, "how often to repeat; the median round by throughput is told")
	flags.BoolVar(&f.handoff, "handoff", false, "measure the hand-off from release to the next grant")
	flags.StringVar(&f.prefix, "prefix", "bench", "what the resources' names begin with")
	cmd.RunE = a.onStore(func(ctx context.Context, s leasehold.Store, _ []string) error { return a.bench(ctx, s, f) })
	return cmd
}

// parseWorkers reads "1,8,64".
func parseWorkers(list string) ([]int, error) {
	var counts []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil || n < 1 || n > 10_000 {
			return nil, usagef("--workers is %q; want numbers from 1 to 10000 such as 1,8,64", list)
		}
		counts = append(counts, n)
	}
	return counts, nil
}

func (a *app) bench(ctx context.Context, s leasehold.Store, f benchFlags) error {
	counts, err := parseWorkers(f.workers)
	if err != nil {
		return err
	}
	if f.rounds < 1 || f.duration < 10*time.Millisecond {
		return usagef("--rounds must be at least 1 and --duration at least 10ms")
	}
	measure := measurePairs
	if f.handoff {
		measure = measureHandoff
	}
	// Two runs at a time must not share resources.
	f.prefix = fmt.Sprintf("%s:%d", f.prefix, time.Now().UnixNano())
	rounds := make(map[int][]measurement)
	for round := range f.rounds { // workers inside rounds: a slow spell of the machine hits all
		for _, n := range counts {
			m, err := measure(ctx, s, f, n)
			if err != nil {
				return err
			}
			a.note("round %d: %s", round+1, m.sentence())
			rounds[n] = append(rounds[n], m)
		}
	}
	var results []measurement
	for _, n := range counts {
		results = append(results, medianOf(rounds[n]))
	}
	return a.printBench(results)
}

func (a *app) printBench(results []measurement) error {
	if a.json {
		return a.printJSON(map[string]any{"store": open.Scheme(a.url()), "results": results})
	}
	rows := [][]string{{"MEASURE", "WORKERS", "PER SECOND", "P50", "P95", "P99", "MAX", "ROUNDS"}}
	for _, m := range results {
		rows = append(rows, []string{
			m.Measure, fmt.Sprint(m.Workers), fmt.Sprintf("%.0f", m.PerSecond),
			millis(m.P50), millis(m.P95), millis(m.P99), millis(m.Max), fmt.Sprint(m.Rounds),
		})
	}
	return table(a.out, rows)
}

func millis(ms float64) string { return strconv.FormatFloat(ms, 'f', 3, 64) + " ms" }

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

// summarize makes a measurement of the times of all workers.
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

// medianOf returns the round of median throughput: figures of one round belong
// together.
func medianOf(rounds []measurement) measurement {
	sorted := slices.Clone(rounds)
	slices.SortFunc(sorted, func(a, b measurement) int { return cmp.Compare(a.PerSecond, b.PerSecond) })
	m := sorted[len(sorted)/2]
	m.Rounds = len(rounds)
	return m
}

// runWorkers repeats work in n goroutines until the first error or until the time
// is up. The first call of each is not measured: it makes the connections.
func runWorkers(ctx context.Context, n int, d time.Duration, work func(ctx context.Context, worker int) (time.Duration, error)) ([][]time.Duration, time.Duration, error) {
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
	times, took, err := runWorkers(ctx, workers, f.duration, func(ctx context.Context, i int) (time.Duration, error) {
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
	times, took, err := runWorkers(ctx, workers, f.duration, func(ctx context.Context, i int) (time.Duration, error) {
		g, err := waiter.Wait(ctx, leasehold.AcquireRequest{
			Resource: resource, Holder: fmt.Sprintf("bench:%d", i), TTL: benchTTL, Timeout: leasehold.NoTimeout,
		})
		if err != nil {
			return 0, err
		}
		var took time.Duration
		if g.Waited > 0 { // else it was free: no hand-off
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
