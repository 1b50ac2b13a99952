// Command stores measures each store beside the bare client that does the least by hand:
// two statements on an SQLite file, Redis SET NX PX and a script that deletes,
// PostgreSQL's INSERT … ON CONFLICT and DELETE, etcd's own mutex, a lease on a blob, an
// item that is created and deleted. Every figure is a ratio to the bare client in the same
// run, because machines are noisy and differ.
//
//	make bench-stores
//	make binary; go run ./bench/stores -stores redis -rounds 3 -time 2s
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"time"
)

// options say what is measured and for how long.
type options struct {
	stores  []string
	rounds  int
	workers int
	each    time.Duration
	profile string

	leasehold string // the built program
}

func main() {
	var o options
	names := flag.String("stores", "sqlite,sqlite-shared,postgres,redis,etcd,surreal,azblob,cosmos", "stores to measure")
	flag.IntVar(&o.rounds, "rounds", 5, "rounds, of which the median counts")
	flag.IntVar(&o.workers, "workers", 16, "workers, each on a resource of its own")
	flag.DurationVar(&o.each, "time", 3*time.Second, "how long each round takes for each contender")
	flag.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile of this program")
	flag.StringVar(&o.leasehold, "leasehold", ".bin/leasehold", "the built program, for the server")
	flag.Parse()
	o.stores = strings.Split(*names, ",")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench-stores:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	if o.profile != "" {
		file, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer file.Close()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for _, name := range o.stores {
		start, ok := suites[name]
		if !ok {
			return fmt.Errorf("no store %q", name)
		}
		if err := measure(ctx, o, name, start); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// measure starts one store's server and measures the contenders on it.
func measure(ctx context.Context, o options, name string, start func(context.Context, *scope) ([]contender, error)) (err error) {
	s, err := newScope(o.leasehold)
	if err != nil {
		return err
	}
	defer s.close(&err)
	contenders, err := start(ctx, s)
	if err != nil {
		return err
	}
	rounds, err := alternate(ctx, o, contenders)
	if err != nil {
		return err
	}
	report(os.Stdout, name, o, contenders, rounds)
	return nil
}
