package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAlternate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{rounds: 3, workers: 4, each: time.Second}
		sleeping := func(name string, d time.Duration) contender {
			return contender{name, func(context.Context, int) error { time.Sleep(d); return nil }}
		}
		contenders := []contender{sleeping("bare", time.Millisecond), sleeping("store", 2*time.Millisecond)}
		rounds, err := alternate(t.Context(), o, contenders)
		if err != nil {
			t.Fatal(err)
		}
		bare, store := median(rounds[0]), median(rounds[1])
		if bare.p50 != time.Millisecond || bare.p99 != time.Millisecond || store.p50 != 2*time.Millisecond {
			t.Errorf("figures = %+v, %+v, want 1 ms and 2 ms", bare, store)
		}
		if bare.pairs < 3900 || bare.pairs > 4100 || store.pairs < 1950 || store.pairs > 2050 {
			t.Errorf("pairs = %.0f and %.0f a second, want 4000 and 2000", bare.pairs, store.pairs)
		}
		var out strings.Builder
		report(&out, "fake", o, contenders, rounds)
		if !strings.Contains(out.String(), "50 %") {
			t.Errorf("the report has no ratio of 50 %%:\n%s", &out)
		}
	})
}

func TestFailureOfAPair(t *testing.T) {
	broken := errors.New("broken")
	_, err := alternate(t.Context(), options{rounds: 1, workers: 2, each: time.Minute},
		[]contender{{"bare", func(context.Context, int) error { return broken }}})
	if !errors.Is(err, broken) {
		t.Errorf("alternate = %v, want the pair's error", err)
	}
}

// A server that cannot be started is an error, and everything else still ends.
func TestScopeEnds(t *testing.T) {
	s, err := newScope("")
	if err != nil {
		t.Fatal(err)
	}
	var order []int
	s.Cleanup(func() { order = append(order, 1) })
	s.Cleanup(func() { order = append(order, 2) })
	func() {
		defer s.close(&err)
		s.Fatalf("no %s", "server")
	}()
	if err == nil || err.Error() != "no server" || len(order) != 2 || order[0] != 2 {
		t.Errorf("close = %v after cleanups %v, want the failure and 2, 1", err, order)
	}
}
