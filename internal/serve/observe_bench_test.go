//go:build unix

package serve

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/store/remote"
)

// BenchmarkObserved compares how many operations a server does without metrics,
// with them, and with a log line for each as well: acquires and releases of 64
// workers over loopback, in turns. It counts seconds of processor time, which this
// process uses up: what else the machine does changes mostly the clock's seconds.
// Each share is the median of the shares of all rounds; off/off, of two servers that
// are the same, shows how exact it is.
func BenchmarkObserved(b *testing.B) {
	b.Run("memory", func(b *testing.B) { benchmarkObserved(b, true) })
	b.Run("disk", func(b *testing.B) { benchmarkObserved(b, false) }) // as leasehold serve is by default
}

func benchmarkObserved(b *testing.B, inMemory bool) {
	const workers = 64
	turn := 100 * time.Millisecond
	if !inMemory {
		turn *= 3 // commits vary
	}
	const off, same, metrics, logs = 0, 1, 2, 3
	servers := []*benchServer{
		off:     startBench(b, inMemory, false, false),
		same:    startBench(b, inMemory, false, false),
		metrics: startBench(b, inMemory, true, false),
		logs:    startBench(b, inMemory, true, true),
	}
	for _, s := range servers {
		s.run(workers, 3*turn) // warm up
	}
	rounds := make([][4]float64, 0, 100)
	for b.Loop() {
		var rates [4]float64
		for i := range servers {
			i = (i + len(rounds)) % len(servers) // another one is first each time
			rates[i] = servers[i].run(workers, turn)
		}
		rounds = append(rounds, rates)
	}
	share := func(of, to int) float64 {
		return median(rounds, func(r [4]float64) float64 { return r[of] / r[to] })
	}
	b.ReportMetric(median(rounds, func(r [4]float64) float64 { return r[off] }), "off-ops/cpu-s")
	b.ReportMetric(share(same, off), "off/off")
	b.ReportMetric(share(metrics, off), "metrics/off")
	b.ReportMetric(share(logs, metrics), "logs/metrics")
	b.ReportMetric(0, "ns/op")
}

type benchServer struct{ store *remote.Store }

func startBench(b *testing.B, inMemory, metrics, logs bool) *benchServer {
	o := Defaults()
	o.Listen, o.BlobListen, o.InMemory, o.Rate, o.Data = "127.0.0.1:0", BlobOff, inMemory, -1, b.TempDir()
	if metrics {
		file, err := os.Create(b.TempDir() + "/log")
		if err != nil {
			b.Fatal(err)
		}
		level := slog.LevelWarn
		if logs {
			level = slog.LevelInfo
		}
		log := observe.NewLog(file, true, level)
		p, err := observe.Start(context.Background(), observe.Options{Version: "bench", Log: log, Page: true})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _, _ = p.Close(), log.Close() })
		o.Observe, o.Logger, o.LogLevel = p, log.Logger(), log.Level
	}
	server, err := Start(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	store, err := remote.Open(server.APIs()[0].URL, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { store.Close() })
	return &benchServer{store}
}

// run returns how many operations the workers do in a second of processor time.
func (s *benchServer) run(workers int, d time.Duration) float64 {
	var n atomic.Int64
	var running sync.WaitGroup
	began, used := time.Now(), cpuTime()
	for range workers {
		running.Go(func() {
			r := leasehold.AcquireRequest{Resource: leasehold.NewID().Reveal(), Holder: "worker", TTL: time.Minute}
			for time.Since(began) < d {
				g, err := s.store.Acquire(context.Background(), r)
				if err == nil {
					_, err = s.store.Release(context.Background(), leasehold.ReleaseRequest{ID: g.ID, Resource: r.Resource})
				}
				if err != nil {
					panic(err)
				}
				n.Add(2)
			}
		})
	}
	running.Wait()
	return float64(n.Load()) / (cpuTime() - used).Seconds()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(rounds [][4]float64, of func([4]float64) float64) float64 {
	all := make([]float64, len(rounds))
	for i, r := range rounds {
		all[i] = of(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
