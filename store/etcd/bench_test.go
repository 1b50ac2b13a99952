package etcd

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

func BenchmarkStore(b *testing.B) {
	client := newClient(b, testserver.Etcd(b).Addr)
	var names prefixes
	storetest.Bench(b, func(t testing.TB) leasehold.Store { return openOn(t, client, &Options{Prefix: names.next()}) })
}

// BenchmarkPairs compares an acquire and a release with etcd's own mutex, with a
// session for each pair: each lease has a ttl of its own.
func BenchmarkPairs(b *testing.B) {
	server := testserver.Etcd(b)
	client := newClient(b, server.Addr)
	s := openOn(b, client, nil)
	quiet := openOn(b, client, &Options{Prefix: "quiet/"})
	if _, err := quiet.SetSetting(b.Context(), leasehold.SettingKeepHistory, false); err != nil {
		b.Fatal(err)
	}
	for _, workers := range []int{1, 16} {
		for name, pair := range map[string]func(context.Context, string) error{
			"store":           func(ctx context.Context, resource string) error { return storePair(ctx, s, resource) },
			"without history": func(ctx context.Context, resource string) error { return storePair(ctx, quiet, resource) },
			"mutex":           func(ctx context.Context, resource string) error { return mutexPair(ctx, client, resource) },
		} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				server0, client0 := cpuTime(server.Pid()), cpuTime(os.Getpid())
				benchPairs(b, workers, pair)
				b.ReportMetric(float64((cpuTime(server.Pid())-server0).Microseconds())/float64(b.N), "etcd-cpu-µs/pair")
				b.ReportMetric(float64((cpuTime(os.Getpid())-client0).Microseconds())/float64(b.N), "client-cpu-µs/pair")
			})
		}
	}
}

// cpuTime is what a process has used so far, on Linux: other work on the machine
// does not blur it.
func cpuTime(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks time.Duration
	for _, field := range fields[11:13] {
		n, _ := strconv.Atoi(field)
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

func storePair(ctx context.Context, s *Store, resource string) error {
	g, err := s.Acquire(ctx, leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute})
	if err == nil {
		_, err = s.Release(ctx, leasehold.ReleaseRequest{ID: g.ID, Resource: resource})
	}
	return err
}

func mutexPair(ctx context.Context, client *clientv3.Client, resource string) error {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(60), concurrency.WithContext(ctx))
	if err != nil {
		return err
	}
	defer session.Close()
	m := concurrency.NewMutex(session, "mutex/"+resource)
	if err := m.Lock(ctx); err != nil {
		return err
	}
	return m.Unlock(ctx)
}

func benchPairs(b *testing.B, workers int, pair func(context.Context, string) error) {
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for i := range workers {
		all.Go(func() {
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				if err := pair(b.Context(), fmt.Sprint("r", i, "-", n%7)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "pairs/s")
}
