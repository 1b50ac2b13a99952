package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// Three hosts elect a leader for hours while now one, now another is cut off:
// there are never two, and there is one again within a ttl.
func TestElectionWithOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, inner := faulty(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		var kept tenures
		var running sync.WaitGroup
		lines := map[string]*chaos.Store{}
		for i := range 3 {
			name := fmt.Sprint("host-", i)
			lines[name] = chaos.Wrap(inner, &chaos.Options{Policy: chaos.WithProbability(uint64(i), 0.1, chaos.LostAnswer)})
			m, _ := manage(t, lines[name], leasehold.Options{Holder: name})
			running.Go(func() {
				err := m.Lead(ctx, "leader", func(ctx context.Context, h *leasehold.Held) error {
					k := tenure{resource: "leader", holder: name, token: h.Token(), from: time.Now()}
					<-ctx.Done()
					k.to, k.lost = time.Now(), errors.Is(context.Cause(ctx), leasehold.ErrLost)
					kept.add(k)
					return ctx.Err()
				})
				wantError(t, "Lead(leader) of "+name, err, context.Canceled)
			})
		}
		const terms = 20
		for range terms {
			time.Sleep(5 * time.Minute)
			leader := holder(t, inner, "leader")
			if leader == "" {
				t.Fatal("nobody leads")
			}
			lines[leader].SetDown(true)
			time.Sleep(ttl + time.Second)
			if now := holder(t, inner, "leader"); now == "" || now == leader {
				t.Errorf("%q leads a ttl after %q was cut off, want another", now, leader)
			}
			lines[leader].SetDown(false)
		}
		cancel()
		running.Wait()
		for _, broken := range kept.overlaps() {
			t.Error(broken)
		}
		if len(kept.all) != terms+1 {
			t.Errorf("%d terms of openTenure, want %d", len(kept.all), terms+1)
		}
	})
}
