package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/local"
)

var (
	dayLeases  = soak.Rounds(200, 1_000)
	dayOverlap = dayLeases * 3 / 10 // how many of them both hosts want
)

const (
	dayBatch  = 10 // how many of them one worker holds at a time
	dayTTL    = 2 * time.Hour
	dayLength = 24 * time.Hour
)

// A day of many resources and two hosts whose connections fail in every way: no
// two tenures of one resource overlap, and work gets done.
func TestADayOfChaos(t *testing.T) {
	seed := rand.Uint64N(1 << 32)
	t.Logf("seed %d", seed)
	synctest.Test(t, func(t *testing.T) { aDay(t, seed) })
}

func aDay(t *testing.T, seed uint64) {
	_, inner := faulty(t, nil)
	if _, err := inner.SetSetting(t.Context(), leasehold.SettingKeepHistory, false); err != nil {
		t.Fatalf("SetSetting(keep_history) = %v, want nil", err) // a day of it would fill the memory
	}
	ctx, cancel := context.WithTimeout(t.Context(), dayLength)
	defer cancel()
	var kept tenures
	var running sync.WaitGroup
	for n := range 2 {
		h := openHost(t, inner, fmt.Sprint("host-", n), seed+uint64(n))
		running.Go(func() { h.outages(ctx) })
		first := n * (dayLeases - dayOverlap) / 2
		for i := 0; i < (dayLeases+dayOverlap)/2; i += dayBatch {
			running.Go(func() { h.work(ctx, first+i, &kept) })
		}
	}
	for id := 0; id < dayLeases; id += 10 {
		running.Go(func() { waitAtStore(ctx, inner, fmt.Sprint("r", id), &kept) })
	}
	running.Wait()
	for i, broken := range kept.overlaps() {
		if t.Error(broken); i == 10 {
			break
		}
	}
	lost, holders := 0, map[string]int{}
	for _, k := range kept.all {
		holders[k.holder]++
		if k.lost {
			lost++
		}
	}
	t.Logf("%d tenures, %d lost, by host %v", len(kept.all), lost, holders)
	if len(kept.all) < 2*dayLeases || lost < dayLeases/20 || len(holders) != 3 {
		t.Errorf("%d tenures, %d lost, %d holders: too little contention", len(kept.all), lost, len(holders))
	}
}

// host is one process, with its own faulty connection to the shared store.
type host struct {
	*leasehold.Manager
	store *chaos.Store
	seed  uint64
}

func openHost(t *testing.T, inner *local.Engine, name string, seed uint64) *host {
	t.Helper()
	store := chaos.Wrap(inner, &chaos.Options{Policy: chaos.First(
		chaos.WithProbability(seed+100, 0.02, chaos.LostAnswer),
		chaos.WithProbability(seed+200, 0.02, chaos.Unavailable),
		chaos.WithProbability(seed+300, 0.01, chaos.Timeout),
		chaos.WithProbability(seed+400, 0.01, chaos.TimeoutUnknown),
		chaos.WithProbability(seed+500, 0.01, chaos.Delay(dayTTL)),
		chaos.WithProbability(seed+600, 0.01, chaos.LateAnswer(dayTTL)),
		chaos.WithProbability(seed+700, 0.2, chaos.Fault{Before: 3 * time.Second, After: 2 * time.Second}),
	)})
	m, _ := manage(t, store, leasehold.Options{
		TTL: dayTTL, Holder: name,
		RenewRetryInterval: time.Minute, AcquireRetryInterval: time.Minute, // few requests, for speed
	})
	return &host{m, store, seed}
}

// outages disconnects the host now and then, for a moment or for more than a ttl.
func (h *host) outages(ctx context.Context) {
	r := rand.New(rand.NewPCG(h.seed, 0))
	for ctx.Err() == nil {
		sleep.For(ctx, time.Hour+upTo(r, 2*time.Hour))
		h.store.SetDown(true)
		sleep.For(ctx, time.Duration(r.ExpFloat64()*float64(dayTTL/2)))
		h.store.SetDown(false)
	}
}

// work acquires ten resources again and again, as far as it gets them, and holds
// them for a while. It stops with each when its context ends.
func (h *host) work(ctx context.Context, first int, kept *tenures) {
	r := rand.New(rand.NewPCG(h.seed, uint64(first)))
	sleep.For(ctx, upTo(r, time.Hour)) // not all in one moment
	for ctx.Err() == nil {
		var open []*openTenure
		for id := range dayBatch {
			want := leasehold.AcquireOptions{Timeout: 1 + upTo(r, 2*time.Minute)}
			if held, err := h.Acquire(ctx, fmt.Sprint("r", first+id), want); err == nil {
				open = append(open, startTenure(held))
			}
		}
		sleep.For(ctx, upTo(r, 8*time.Hour))
		for _, o := range open {
			kept.add(o.end())
			o.held.Release(ctx)
		}
		sleep.For(ctx, upTo(r, 4*time.Hour))
	}
}

// openTenure is a tenure that has not ended.
type openTenure struct {
	held *leasehold.Held
	from time.Time
	lost time.Time
	over chan struct{} // closed once lost is set
}

func startTenure(held *leasehold.Held) *openTenure {
	o := &openTenure{held: held, from: time.Now(), over: make(chan struct{})}
	context.AfterFunc(held.Context(), func() {
		o.lost = time.Now()
		close(o.over)
	})
	return o
}

// end ends the tenure now, unless its context has ended it before.
func (o *openTenure) end() tenure {
	t := tenure{resource: o.held.Resource(), holder: o.held.Holder(), token: o.held.Token(), from: o.from, to: time.Now()}
	if o.held.Context().Err() != nil {
		<-o.over
		t.to, t.lost = o.lost, true
	}
	return t
}

// waitAtStore waits at the store itself, without faults, so that it gets the
// resource at the first moment at which the store grants it.
func waitAtStore(ctx context.Context, store *local.Engine, resource string, kept *tenures) {
	r := leasehold.AcquireRequest{Resource: resource, Holder: "direct", TTL: dayTTL, Timeout: leasehold.NoTimeout}
	for ctx.Err() == nil {
		g, err := store.Wait(ctx, r)
		if err != nil {
			return
		}
		k := tenure{resource: resource, holder: r.Holder, token: g.Token, from: time.Now()}
		sleep.For(ctx, time.Minute)
		k.to = time.Now()
		kept.add(k)
		store.Release(context.WithoutCancel(ctx), leasehold.ReleaseRequest{ID: g.ID})
		sleep.For(ctx, time.Hour)
	}
}

func upTo(r *rand.Rand, most time.Duration) time.Duration {
	return time.Duration(r.Int64N(int64(most)))
}
