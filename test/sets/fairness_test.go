package sets_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// stream is clients that acquire, hold for a moment, release and begin again, each
// without a pause, so that what they claim is never free for long.
type stream struct {
	testing.TB
	engine  *local.Engine
	request func(client int, random *rand.Rand) leasehold.AcquireRequest

	mu     sync.Mutex
	grants int
	stop   bool
}

const streamClients = 12

// run starts the clients; each ends when stop is set.
func (s *stream) run(wg *sync.WaitGroup) {
	for client := range streamClients {
		random := rand.New(rand.NewPCG(1, uint64(client)))
		wg.Go(func() {
			for !s.stopped() {
				s.once(client, random)
			}
		})
	}
}

func (s *stream) once(client int, random *rand.Rand) {
	r := s.request(client, random)
	r.Holder, r.TTL, r.Timeout = fmt.Sprint("client ", client), time.Minute, leasehold.NoTimeout
	acquire := s.engine.Wait
	if random.IntN(4) == 0 { // some do not wait
		acquire = s.engine.Acquire
	}
	g, err := acquire(context.Background(), r)
	if err != nil {
		if leasehold.ReasonOf(err) != leasehold.ReasonHeld {
			s.Errorf("acquire of %v = %v", r.Claims, err)
		}
		time.Sleep(time.Millisecond)
		return
	}
	s.mu.Lock()
	s.grants++
	s.mu.Unlock()
	time.Sleep(time.Duration(1+random.IntN(40)) * time.Millisecond)
	if _, err := s.engine.Release(context.Background(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
		s.Errorf("release = %v", err)
	}
}

func (s *stream) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop
}

func (s *stream) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grants
}

// verifyNotStarved lets a waiter come into the stream, again and again, and expects it
// to be served after at most those that were there before it: one request each client.
func (s *stream) verifyNotStarved(r leasehold.AcquireRequest) {
	s.Helper()
	var wg sync.WaitGroup
	s.run(&wg)
	time.Sleep(time.Second)
	if s.count() < 20 {
		s.Errorf("%d grants in a second; want a stream", s.count())
	}
	for range soak.Rounds(20, 200) {
		before := s.count()
		r.Timeout = time.Minute
		g, err := s.engine.Wait(context.Background(), r)
		if err != nil {
			s.Errorf("Wait(%v) = %v after %d grants to others, want a grant", r.Claims, err, s.count()-before)
			break
		}
		if between := s.count() - before; between > streamClients {
			s.Errorf("%d grants to others while %v waited, want at most %d", between, r.Claims, streamClients)
		}
		time.Sleep(10 * time.Millisecond)
		if _, err := s.engine.Release(context.Background(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
			s.Errorf("release = %v", err)
		}
		time.Sleep(200 * time.Millisecond)
	}
	s.mu.Lock()
	s.stop = true
	s.mu.Unlock()
	wg.Wait()
}

// TestLargeSetIsNotStarved: all of it is never free by chance, because small requests
// for its parts come one after the other.
func TestLargeSetIsNotStarved(t *testing.T) {
	parts := []string{"a", "b", "c", "d", "e", "f"}
	for name, tt := range map[string]struct {
		large []leasehold.Claim
		small func(part string) leasehold.AcquireRequest
	}{
		"names": {leasehold.Resources(parts...), func(part string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Resource: part}
		}},
		"sets of names": {leasehold.Resources(parts...), func(part string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Claims: leasehold.Resources(part, "only "+part)}
		}},
		"paths": {leasehold.Paths("repo", "src/**"), func(part string) leasehold.AcquireRequest {
			return leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "src/"+part+"/*.go")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine *local.Engine) {
				s := &stream{TB: t, engine: engine, request: func(client int, _ *rand.Rand) leasehold.AcquireRequest {
					return tt.small(parts[client%len(parts)])
				}}
				s.verifyNotStarved(leasehold.AcquireRequest{Holder: "large", Claims: tt.large, TTL: time.Minute})
			})
		})
	}
}

// TestWriterIsNotStarved: readers that follow each other leave a writer its turn.
func TestWriterIsNotStarved(t *testing.T) {
	for name, tt := range map[string]struct {
		shared leasehold.Claim
		writer leasehold.AcquireRequest
	}{
		"a name":       {leasehold.Claim{Pattern: "doc", Mode: leasehold.Shared}, leasehold.AcquireRequest{Claims: leasehold.Resources("doc")}},
		"a plain name": {leasehold.Claim{Pattern: "doc", Mode: leasehold.Shared}, leasehold.AcquireRequest{Resource: "doc"}},
		"a path":       {leasehold.Claim{Namespace: "repo", Pattern: "docs/**", Mode: leasehold.Shared}, leasehold.AcquireRequest{Claims: leasehold.Paths("repo", "docs/a.md")}},
		"a path and more": {leasehold.Claim{Namespace: "repo", Pattern: "docs/*", Mode: leasehold.Shared},
			leasehold.AcquireRequest{Claims: append(leasehold.Paths("repo", "**"), leasehold.Resources("doc")...)}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine *local.Engine) {
				s := &stream{TB: t, engine: engine, request: func(int, *rand.Rand) leasehold.AcquireRequest {
					return leasehold.AcquireRequest{Claims: []leasehold.Claim{tt.shared}}
				}}
				tt.writer.Holder, tt.writer.TTL = "writer", time.Minute
				s.verifyNotStarved(tt.writer)
			})
		})
	}
}

// inBubble runs a test with an engine in a bubble.
func inBubble(t *testing.T, test func(t *testing.T, engine *local.Engine)) {
	synctest.Test(t, func(t *testing.T) {
		engine := memory.New()
		defer engine.Close()
		test(t, engine)
	})
}

// TestReservationEnds: a waiter for a set keeps the free parts for one ttl and no
// longer, however long the rest is held; afterwards others pass it.
func TestReservationEnds(t *testing.T) {
	inBubble(t, func(t *testing.T, engine *local.Engine) {
		ctx := context.Background()
		held, err := engine.Acquire(ctx, leasehold.AcquireRequest{Resource: "a", Holder: "ann", TTL: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		var large leasehold.Grant
		var wg sync.WaitGroup
		wg.Go(func() {
			var err error
			large, err = engine.Wait(ctx, leasehold.AcquireRequest{
				Holder: "bob", Claims: leasehold.Resources("a", "b"), TTL: 10 * time.Second, Timeout: leasehold.NoTimeout,
			})
			if err != nil {
				t.Errorf("Wait = %v, want a grant", err)
			}
		})
		synctest.Wait()
		small := leasehold.AcquireRequest{Holder: "cyd", Resource: "b", TTL: time.Second, Timeout: leasehold.NoTimeout}
		if _, err := engine.Acquire(ctx, small); leasehold.ReasonOf(err) != leasehold.ReasonHeld {
			t.Fatalf("Acquire of what is reserved = %v, want lease_held", err)
		}
		time.Sleep(4 * time.Second)
		g, err := engine.Wait(ctx, small)
		if err != nil || g.Waited != 6*time.Second {
			t.Fatalf("Wait = %v after %v, want a grant when the reservation ends, after 6s", err, g.Waited)
		}
		if large.Token != 0 {
			t.Fatal("the set is granted while a part of it is held")
		}
		if _, err := engine.Release(ctx, leasehold.ReleaseRequest{ID: held.ID}); err != nil {
			t.Fatal(err)
		}
		wg.Wait() // until cyd's lease ends
		if large.Waited != 11*time.Second {
			t.Errorf("the set waited %v, want 11s: until the last part is free", large.Waited)
		}
	})
}
