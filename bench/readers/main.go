// Command readers measures what readers cost writers: lease pairs beside event
// streams, and blob reads beside scans of the history. Every
// figure is the ratio to the quiet server of the same round, because machines
// are noisy; the median of the rounds counts. The server, the streams and the
// scans are processes of their own.
//
//	make bench-readers
package main

import (
	"context"
	"errors"
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
	if len(os.Args) > 1 && os.Args[1] == "child" {
		fail(child(os.Args[2:]))
		return
	}
	var b bench
	flag.StringVar(&b.binary, "leasehold", "leasehold", "the leasehold program to measure")
	flag.IntVar(&b.rounds, "rounds", 5, "rounds; the median counts")
	flag.DurationVar(&b.each, "each", 3*time.Second, "how long one measurement lasts")
	flag.IntVar(&b.workers, "workers", 32, "how many clients make pairs or read blobs, one request at a time each")
	flag.IntVar(&b.records, "records", 443_000, "how many records the history has for the scans")
	flag.StringVar(&b.only, "only", "", "leave out the measurements whose names do not have this in them")
	strict := flag.Bool("strict", false, "exit with status 1 if a target is missed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	met, err := b.run(ctx)
	fail(err)
	if *strict && !met {
		os.Exit(1)
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench-readers:", err)
		os.Exit(1)
	}
}

type bench struct {
	binary  string
	rounds  int
	each    time.Duration
	workers int
	records int
	only    string
	server  *server
}

// load is a number of event streams beside the pairs.
type load struct {
	what   string
	n      int
	prefix string
	least  float64 // the ratio that is aimed for
}

var loads = []load{
	{"1,000 streams that match nothing", 1000, "nothing:", 0.8},
	{"32 streams that receive everything", 32, "", 0.8},
	{"1,000 streams that receive everything", 1000, "", 0.5},
}

// mostP99 is how much longer blob reads may take beside scans.
const mostP99 = 3

func (b *bench) run(ctx context.Context) (met bool, err error) {
	if b.server, err = startServer(ctx, b.binary); err != nil {
		return false, err
	}
	defer b.server.stop()
	met = true
	for _, l := range loads {
		if !strings.Contains(l.what, b.only) {
			continue
		}
		ok, err := b.streams(ctx, l)
		if err != nil {
			return false, fmt.Errorf("%s: %w", l.what, err)
		}
		met = met && ok
	}
	if !strings.Contains("16 scans", b.only) {
		return met, nil
	}
	ok, err := b.scans(ctx)
	return met && ok, err
}

// streams compares pairs with and without streams.
func (b *bench) streams(ctx context.Context, l load) (bool, error) {
	var ratios []float64
	for range b.rounds {
		quiet, err := b.pairs(ctx)
		if err != nil {
			return false, err
		}
		readers, err := b.server.startChild("streams", l.n, l.prefix)
		if err != nil {
			return false, err
		}
		busy, err := b.pairs(ctx)
		seen := readers.stop()
		if err != nil {
			return false, err
		}
		ratios = append(ratios, busy/quiet)
		fmt.Printf("  %s: %.0f pairs/s quiet, %.0f beside them (%.2f); %s\n", l.what, quiet, busy, busy/quiet, seen)
	}
	return report("pairs beside "+l.what, median(ratios), "at least", l.least, median(ratios) >= l.least), nil
}

// scans compares blob reads, at half the rate that the quiet server can do, with
// and without scans of the history.
func (b *bench) scans(ctx context.Context) (bool, error) {
	if err := b.server.fill(ctx, b.records); err != nil {
		return false, fmt.Errorf("filling the history: %w", err)
	}
	if err := b.server.putBlobs(ctx, b.workers); err != nil {
		return false, fmt.Errorf("writing blobs: %w", err)
	}
	var ratios []float64
	for range b.rounds {
		most, err := b.reads(ctx, b.each, 0)
		if err != nil {
			return false, err
		}
		quiet, err := b.reads(ctx, 3*b.each, most.rate/2)
		if err != nil {
			return false, err
		}
		readers, err := b.server.startChild("scans", 16, "")
		if err != nil {
			return false, err
		}
		busy, err := b.reads(ctx, 3*b.each, most.rate/2) // long enough for scans to end
		seen := readers.stop()
		if err != nil {
			return false, err
		}
		ratio := float64(busy.p99) / float64(quiet.p99)
		ratios = append(ratios, ratio)
		fmt.Printf("  16 scans: %.0f reads/s at most; at half of it p99 %v quiet, %v beside them (%.2f), median %v and %v; %s\n",
			most.rate, quiet.p99, busy.p99, ratio, quiet.p50, busy.p50, seen)
	}
	return report("p99 of blob reads beside 16 scans", median(ratios), "at most", mostP99, median(ratios) <= mostP99), nil
}

func report(what string, ratio float64, bound string, target float64, met bool) bool {
	verdict := "met"
	if !met {
		verdict = "MISSED"
	}
	fmt.Printf("%-55s %.2f × quiet (%s %.2f: %s)\n", what, ratio, bound, target, verdict)
	return met
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

var errStatus = errors.New("unexpected status")
