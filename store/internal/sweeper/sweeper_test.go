package sweeper

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// looks runs a Sweeper for an hour and returns when it looked. Sweep answers the n-th
// look, from zero.
func looks(t *testing.T, start func(w *Sweeper), sweep func(n int, ago time.Duration) (time.Duration, bool, error)) (at []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		w := New()
		start(w)
		w.Run(ctx, func(_ context.Context, ago time.Duration) (time.Duration, bool, error) {
			at = append(at, time.Since(began))
			return sweep(len(at)-1, ago)
		})
	})
	return at
}

func TestLooksAtTheNextEnd(t *testing.T) {
	at := looks(t, func(w *Sweeper) {
		w.EndsIn(leasehold.Infinite)
		w.EndsIn(7 * time.Second)
		w.EndsIn(20 * time.Second) // later than planned: the sweep itself knows of it
	}, func(n int, _ time.Duration) (time.Duration, bool, error) {
		if n == 0 {
			return 13 * time.Second, false, nil
		}
		return time.Hour, false, nil
	})
	want := []time.Duration{7*time.Second + time.Millisecond, 20*time.Second + 2*time.Millisecond, 50*time.Second + 2*time.Millisecond}
	for i, moment := range want {
		if i >= len(at) || at[i] != moment {
			t.Fatalf("it looked at %v, want %v first", at[:min(len(at), 4)], want)
		}
	}
	if len(at) < 110 || len(at) > 125 {
		t.Errorf("it looked %d times in an hour, want every 30 s", len(at))
	}
}

// A lease that is granted while it sleeps, or while it looks, wakes it in time.
func TestWokenByANearerEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, ctx := time.Now(), t.Context()
		ctx, cancel := context.WithCancel(ctx)
		w := New()
		time.AfterFunc(2*time.Second, func() { w.EndsIn(time.Second) })
		var at []time.Duration
		w.Run(ctx, func(context.Context, time.Duration) (time.Duration, bool, error) {
			at = append(at, time.Since(began).Truncate(time.Second))
			if len(at) == 1 {
				w.EndsIn(4 * time.Second)
				return MaxPause, false, nil
			}
			cancel()
			return MaxPause, false, nil
		})
		if len(at) != 2 || at[0] != 3*time.Second || at[1] != 7*time.Second {
			t.Errorf("it looked at %v, want 3s and 7s", at)
		}
	})
}

func TestTellsWhenItTidied(t *testing.T) {
	var agos []time.Duration
	looks(t, func(*Sweeper) {}, func(n int, ago time.Duration) (time.Duration, bool, error) {
		agos = append(agos, ago)
		if n == 1 {
			return 0, true, errors.New("it does not count")
		}
		return time.Hour, n == 2, nil
	})
	for i, want := range []time.Duration{30, 60, 90, 30} {
		if agos[i] != want*time.Second {
			t.Fatalf("tidied %v ago, want %vs at look %d", agos[:4], int(want), i)
		}
	}
}
