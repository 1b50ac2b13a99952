package api

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// However many streams there are, together they take their share and no more.
func TestPaceIsAShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		began := time.Now()
		const streams, each = 100, 100 * time.Microsecond
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				for range 10 {
					p.turn(t.Context(), func() error { time.Sleep(each); return nil })
				}
			})
		}
		wg.Wait()
		busy := time.Duration(10 * streams * each)
		want := time.Duration(float64(busy) / (streamShare * float64(runtime.GOMAXPROCS(0))))
		if took := time.Since(began); took < want-2*streamBurst || took > want+streamBurst {
			t.Errorf("turns of %v took %v, want about %v", busy, took, want)
		}
	})
}

// A client that takes nothing keeps nobody from a turn.
func TestPaceGoesOnBesideStuckWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		taken := make(chan struct{})
		for range cap(p.turns) {
			go p.turn(t.Context(), func() error { <-taken; return nil })
		}
		synctest.Wait()
		began := time.Now()
		if err := p.turn(t.Context(), func() error { return nil }); err != nil {
			t.Errorf("a turn beside stuck ones = %v", err)
		}
		if took := time.Since(began); took < longestTurn || took > time.Second {
			t.Errorf("it came after %v, want soon after %v", took, longestTurn)
		}
		close(taken)
	})
}

// A stream that ends while it waits for its turn does not wait on.
func TestPaceEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		for range cap(p.turns) {
			<-p.turns
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.turn(ctx, func() error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("turn = %v, want the context's end", err)
		}
	})
}
