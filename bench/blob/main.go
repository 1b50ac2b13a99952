// Command blob measures leasehold's Azure Blob API beside azurite on the same
// machine in the same run, through Azure's own Go SDK: leases acquired and
// released, small blobs written and read, the time to start, and the memory that is
// resident after the work. Rounds alternate between the peers and medians are
// compared, because machines are noisy. It is a module of its own, so that it
// stays out of leasehold's dependencies. It reads /proc, and so needs Linux.
//
//	make bench-blob
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	var b bench
	flag.StringVar(&b.binary, "leasehold", "leasehold", "the leasehold program to measure; empty measures azurite alone")
	flag.StringVar(&b.azurite, "azurite", "node_modules/azurite/dist/src/blob/main.js", "azurite's program, for node; empty measures leasehold alone")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds for each peer; the median counts")
	flag.DurationVar(&b.each, "each", 2*time.Second, "how long a round lasts")
	flag.StringVar(&b.only, "only", "", "leave out the workloads whose names do not have this in them")
	strict := flag.Bool("strict", false, "exit with status 1 if a target is missed")
	flag.Parse()
	signal.Ignore(syscall.SIGPIPE) // a closed pipe must not leave servers running
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	met, err := b.run(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-blob:", err)
		os.Exit(1)
	}
	if *strict && !met {
		os.Exit(1)
	}
}

// bench is the whole comparison.
type bench struct {
	binary, azurite string
	rounds          int
	each            time.Duration
	only            string
	dir             string // of this run; deleted with the data in it
	peers           []*peer
}

// run returns whether every target was met.
func (b *bench) run(ctx context.Context) (met bool, err error) {
	if b.dir, err = os.MkdirTemp("", "bench-blob"); err != nil {
		return false, err
	}
	defer os.RemoveAll(b.dir)
	if err := b.choosePeers(); err != nil {
		return false, err
	}
	r := report{rounds: b.rounds}
	if err := b.measureStarts(ctx, &r); err != nil {
		return false, err
	}
	for _, p := range b.peers {
		if err := p.start(ctx, b.dir); err != nil {
			return false, err
		}
		defer p.stop()
	}
	for _, w := range workloads {
		if !strings.Contains(w.what, b.only) {
			continue
		}
		if err := b.measureWork(ctx, w, &r); err != nil {
			return false, err
		}
	}
	if err := b.measureMemory(&r); err != nil {
		return false, err
	}
	return r.print(os.Stdout, b.peers), nil
}

// alternate measures every peer in turn, round after round.
func (b *bench) alternate(what string, measure func(*peer) (sample, error)) (line, error) {
	rounds := make([][]sample, len(b.peers))
	for round := range b.rounds {
		for i, p := range b.peers {
			s, err := measure(p)
			if err != nil {
				return line{}, fmt.Errorf("%s: %s: %w", p.name, what, err)
			}
			rounds[i] = append(rounds[i], s)
			fmt.Fprintf(os.Stderr, "round %d: %s: %s: %.1f\n", round+1, what, p.name, s.value)
		}
	}
	l := line{what: what}
	for i := range rounds {
		slices.SortFunc(rounds[i], func(a, b sample) int { return cmp.Compare(a.value, b.value) })
		l.medians = append(l.medians, rounds[i][len(rounds[i])/2])
	}
	return l, nil
}
