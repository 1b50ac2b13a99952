package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
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
	// Names of their own keep two benches apart.
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
