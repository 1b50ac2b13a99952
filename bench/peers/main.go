// Command peers measures leasehold beside etcd on the same machine in the same
// run: durable acquire+release pairs, and the hand-off from a release to the
// next grant. Rounds alternate between the peers and medians are compared,
// because machines are noisy. It is a module of its own, so that etcd's server
// stays out of leasehold's dependencies.
//
//	make bench-peers
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "leasehold", "leasehold", "the leasehold program to measure")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds for each peer; the median counts")
	flag.DurationVar(&b.each, "each", 3*time.Second, "how long a round of pairs lasts")
	flag.IntVar(&b.handoffs, "handoffs", 300, "hand-offs in a round")
	flag.Parse()
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench-peers:", err)
		os.Exit(1)
	}
}

// bench is the whole comparison.
type bench struct {
	binary   string
	rounds   int
	each     time.Duration
	handoffs int
	peers    []peer
}

// peer is one system under test: a real server, spoken to by its own client.
type peer interface {
	name() string
	pid() int
	// worker returns something that locks and unlocks one name again and again.
	worker(ctx context.Context, name string, how style) (locker, error)
	close()
}

// style is how a worker uses its peer.
type style int

const (
	shared    style = iota // workers share the peer's own client
	contended              // they also share the name, and wait in its queue
	alone                  // each has a connection of its own and sends each call by itself
)

// locker locks and unlocks one name.
type locker interface {
	lock(ctx context.Context) error
	unlock(ctx context.Context) error
	close()
}

func (b *bench) run(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench-peers")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, start := range []func(context.Context, string) (peer, error){b.startLeasehold, startDebianEtcd, startEmbeddedEtcd} {
		p, err := start(ctx, dir)
		if err != nil {
			return err
		}
		defer p.close()
		b.peers = append(b.peers, p)
	}
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	defer out.Flush()
	for _, row := range []struct {
		how   style
		title string
	}{
		{shared, "%d workers, durable pairs/s"},
		{alone, "%d workers, each call its own request over its own connection, durable pairs/s"},
	} {
		for _, workers := range []int{1, 8, 64} {
			medians, err := b.alternate(func(p peer, round int) (float64, error) {
				return b.pairs(ctx, p, workers, round, row.how)
			})
			if err != nil {
				return err
			}
			report(out, fmt.Sprintf(row.title, workers), b.peers, medians, slices.Max)
		}
	}
	medians, err := b.alternate(func(p peer, round int) (float64, error) { return b.handoff(ctx, p, round) })
	if err != nil {
		return err
	}
	report(out, "hand-off, µs (median)", b.peers, medians, slices.Min)
	return nil
}

// alternate measures every peer in turn, round after round, and returns their
// medians.
func (b *bench) alternate(measure func(peer, int) (float64, error)) ([]float64, error) {
	rounds := make([][]float64, len(b.peers))
	for round := range b.rounds {
		for i, p := range b.peers {
			v, err := measure(p, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name(), err)
			}
			rounds[i] = append(rounds[i], v)
			fmt.Fprintf(os.Stderr, "round %d: %s: %.0f\n", round+1, p.name(), v)
		}
	}
	medians := make([]float64, len(b.peers))
	for i := range rounds {
		slices.Sort(rounds[i])
		medians[i] = rounds[i][len(rounds[i])/2]
	}
	return medians, nil
}

// report prints one line a peer, and leasehold's ratio to the best of the
// others.
func report(out *tabwriter.Writer, what string, peers []peer, medians []float64, best func([]float64) float64) {
	fmt.Fprintf(out, "\n%s\n", what)
	for i, p := range peers {
		fmt.Fprintf(out, "  %s\t%.0f\n", p.name(), medians[i])
	}
	fmt.Fprintf(out, "  ratio to the better etcd\t%.2f\n", medians[0]/best(medians[1:]))
}
