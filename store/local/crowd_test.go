package local

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

func TestCrowdAwaited(t *testing.T) {
	now := time.Now()
	slow := 10 * worthwhile
	for name, test := range map[string]struct {
		crowd crowd
		want  int32
	}{
		"nothing yet":              {crowd{}, 0},
		"a few":                    {crowd{size: crowded - 1, took: slow, since: now}, 0},
		"many":                     {crowd{size: 32, took: slow, since: now}, 24},
		"many, a moment ago":       {crowd{size: 32, took: slow, since: now.Add(-longestWait)}, 24},
		"many, but long ago":       {crowd{size: 32, took: slow, since: now.Add(-longestWait - 1)}, 0},
		"many, a commit for free":  {crowd{size: 32, took: worthwhile - 1, since: now}, 0},
		"many, but not any longer": {crowd{size: 32, took: slow, since: now, pause: 1}, 0},
	} {
		if got := test.crowd.awaited(now); got != test.want {
			t.Errorf("%s: awaited() = %d, want %d", name, got, test.want)
		}
	}
}

func TestCrowdPauseEnds(t *testing.T) {
	now := time.Now()
	c := crowd{size: 8, took: time.Millisecond, since: now, pause: 2}
	for i, want := range []int32{0, 0, 6, 6} {
		if got := c.awaited(now); got != want {
			t.Errorf("awaited() number %d = %d, want %d", i+1, got, want)
		}
	}
}

// busy has workers take and give back a lease of their own, each so often, with
// a pause before every request that is longer for each worker.
func busy(t *testing.T, e *Engine, workers, rounds int, pause time.Duration) {
	t.Helper()
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			pause := pause * time.Duration(w+1) / time.Duration(workers)
			for range rounds {
				time.Sleep(pause)
				g, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: fmt.Sprint(w), Holder: "a"})
				if err == nil {
					time.Sleep(pause)
					_, err = e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
				}
				if err != nil {
					t.Errorf("worker %d: %v", w, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestCrowdSharesCommits: 16 callers who come one after the other share commits.
// If each commit left with whoever is there, it would have 5.
func TestCrowdSharesCommits(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.slowness = 200 * time.Microsecond
		const workers, rounds = 16, 50
		busy(t, e, workers, rounds, 400*time.Microsecond)
		if each := float64(workers*rounds*2) / float64(d.commits); each < 7 {
			t.Errorf("%d commits have %.1f operations each, want at least 7", d.commits, each)
		}
	})
}

// TestLoneCallerDoesNotWait: an operation takes as long as its commit, whatever
// there was before.
func TestLoneCallerDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.slowness = 200 * time.Microsecond
		busy(t, e, 16, 20, 0)
		time.Sleep(2 * longestWait)
		for range 3 {
			began := time.Now()
			release(t, e, acquire(t, e, "alone", "a", time.Minute))
			if took := time.Since(began); took != 2*d.slowness {
				t.Errorf("a pair of a lone caller took %v, want %v", took, 2*d.slowness)
			}
		}
	})
}

// TestCrowdThatLeft: who stays behind when all others stop waits for them once,
// and not for long.
func TestCrowdThatLeft(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.slowness = 200 * time.Microsecond
		busy(t, e, 16, 20, 0)
		began := time.Now()
		for range 10 {
			release(t, e, acquire(t, e, "alone", "a", time.Minute))
		}
		if took, most := time.Since(began), 20*d.slowness+longestWait; took > most {
			t.Errorf("ten pairs after the others left took %v, want at most %v", took, most)
		}
	})
}

// TestCloseDoesNotAwaitACrowd: what is pending is written at once.
func TestCloseDoesNotAwaitACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := open(t, d)
		e.crowd = crowd{size: 1000, took: time.Hour, since: time.Now()}
		answered := make(chan error, 1)
		go func() {
			_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a"})
			answered <- err
		}()
		synctest.Wait() // it waits for others
		began := time.Now()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v, want no time", took)
		}
		if err := <-answered; err != nil {
			t.Errorf("Acquire = %v, want it to be written at the end", err)
		}
	})
}
