package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// contender is one way to hold a resource and let it go.
type contender struct {
	name string
	// pair acquires and releases the resource of a worker.
	pair func(ctx context.Context, worker int) error
}

// figures are what one round found about one contender.
type figures struct {
	pairs    float64 // a second
	p50, p99 time.Duration
}

const warmUp = 200 * time.Millisecond // worked and not counted

// alternate measures each contender once a round, so that a slow minute of the
// machine meets them all. The result is by contender.
func alternate(ctx context.Context, o options, contenders []contender) ([][]figures, error) {
	all := make([][]figures, len(contenders))
	for round := range o.rounds {
		for i := range contenders {
			i := (i + round) % len(contenders) // nobody is always the first
			f, err := measureOne(ctx, o, contenders[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", contenders[i].name, err)
			}
			all[i] = append(all[i], f)
		}
	}
	return all, nil
}

func measureOne(ctx context.Context, o options, c contender) (figures, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	counted := time.Now().Add(warmUp)
	end := counted.Add(o.each)
	took := make([][]time.Duration, o.workers)
	var wg sync.WaitGroup
	for worker := range o.workers {
		wg.Go(func() {
			for from := time.Now(); from.Before(end) && ctx.Err() == nil; {
				if err := c.pair(ctx, worker); err != nil {
					cancel(err)
					return
				}
				now := time.Now()
				if !from.Before(counted) {
					took[worker] = append(took[worker], now.Sub(from))
				}
				from = now
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return figures{}, err
	}
	return summarize(slices.Concat(took...), time.Since(counted)), nil
}

func summarize(took []time.Duration, total time.Duration) figures {
	if len(took) == 0 {
		return figures{}
	}
	slices.Sort(took)
	return figures{
		pairs: float64(len(took)) / total.Seconds(),
		p50:   took[len(took)/2], p99: took[len(took)*99/100],
	}
}

// median is taken of each figure by itself.
func median(rounds []figures) figures {
	pick := func(less func(a, b figures) int) figures {
		sorted := slices.SortedFunc(slices.Values(rounds), less)
		return sorted[len(sorted)/2]
	}
	return figures{
		pairs: pick(func(a, b figures) int { return compare(a.pairs, b.pairs) }).pairs,
		p50:   pick(func(a, b figures) int { return compare(a.p50, b.p50) }).p50,
		p99:   pick(func(a, b figures) int { return compare(a.p99, b.p99) }).p99,
	}
}

func compare[N float64 | time.Duration](a, b N) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// report prints a table; the first contender is the bare client.
func report(w io.Writer, name string, o options, contenders []contender, rounds [][]figures) {
	fmt.Fprintf(w, "\n%s: acquire and release, %d workers, median of %d rounds of %v taking turns\n", name, o.workers, o.rounds, o.each)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(out, "\tpairs/s\tof bare\tp50 ms\tp99 ms\t\n")
	bare := median(rounds[0])
	for i, c := range contenders {
		m := median(rounds[i])
		fmt.Fprintf(out, "%s\t%.0f\t%.0f %%\t%.2f\t%.2f\t\n", c.name, m.pairs, 100*m.pairs/bare.pairs, ms(m.p50), ms(m.p99))
	}
	out.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
