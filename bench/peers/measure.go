package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// pairs returns how many lock+unlock pairs a second the workers make, each on
// a name of its own, and says what a call cost the server.
func (b *bench) pairs(ctx context.Context, p peer, workers, round int, how style) (float64, error) {
	lockers := make([]locker, workers)
	for i := range lockers {
		var err error
		if lockers[i], err = p.worker(ctx, fmt.Sprintf("pairs-%d-%d-%d-%d", how, workers, round, i), how); err != nil {
			return 0, err
		}
		defer lockers[i].close()
	}
	before, err := cpuTime(p.pid())
	if err != nil {
		return 0, err
	}
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var wg sync.WaitGroup
	start := time.Now()
	for _, l := range lockers {
		wg.Go(func() {
			for time.Since(start) < b.each && failure.Load() == nil {
				if err := pair(ctx, l); err != nil {
					failure.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	wg.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	took := time.Since(start)
	after, err := cpuTime(p.pid())
	if err != nil {
		return 0, err
	}
	calls := 2 * done.Load()
	fmt.Fprintf(os.Stderr, "  %s: %.1f µs of the server's processor time for a call\n",
		p.name(), float64((after-before).Microseconds())/float64(max(calls, 1)))
	return float64(done.Load()) / took.Seconds(), nil
}

// cpuTime returns the processor time that a process has used, as Linux counts it.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The command's name, in brackets, may have spaces.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	const ticks = 100 // a second, on every Linux that Go supports
	return time.Duration(user+system) * time.Second / ticks, errors.Join(err1, err2)
}

func pair(ctx context.Context, l locker) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	return l.unlock(ctx)
}

// handoff returns the median time in µs from the call that unlocks a name to
// the return of the call that waits for it.
func (b *bench) handoff(ctx context.Context, p peer, round int) (float64, error) {
	name := fmt.Sprintf("handoff-%d", round)
	var two [2]locker
	for i := range two {
		var err error
		if two[i], err = p.worker(ctx, name, contended); err != nil {
			return 0, err
		}
	}
	if err := two[0].lock(ctx); err != nil {
		return 0, err
	}
	took := make([]float64, b.handoffs)
	for i := range took {
		holder, waiter := two[i%2], two[(i+1)%2]
		granted := make(chan error, 1)
		go func() { granted <- waiter.lock(ctx) }()
		time.Sleep(3 * time.Millisecond) // a real waiter reaches a real queue in real time
		start := time.Now()
		if err := holder.unlock(ctx); err != nil {
			return 0, err
		}
		if err := <-granted; err != nil {
			return 0, err
		}
		took[i] = float64(time.Since(start).Microseconds())
	}
	slices.Sort(took)
	return took[len(took)/2], two[b.handoffs%2].unlock(ctx)
}
