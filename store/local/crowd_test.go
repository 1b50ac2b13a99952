package local

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/seam"
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

// write is an operation of a module.
func write(t *testing.T, e *Engine) {
	t.Helper()
	err := e.Do(t.Context(), "r", func(seam.View) (seam.Decision, error) {
		return seam.Decision{Extras: statement("insert")}, nil
	})
	if err != nil {
		t.Errorf("Do = %v", err)
	}
}

// busy has workers do something, each so often, with a pause before it that is
// longer for each worker.
func busy(workers, rounds int, pause time.Duration, do func(worker int)) {
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for range rounds {
				time.Sleep(pause * time.Duration(w+1) / time.Duration(workers))
				do(w)
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
		const workers, rounds = 16, 100
		busy(workers, rounds, 400*time.Microsecond, func(int) { write(t, e) })
		if each := float64(workers*rounds) / float64(d.commits); each < 7 {
			t.Errorf("%d commits have %.1f operations each, want at least 7", d.commits, each)
		}
	})
}

// TestLoneCallerDoesNotWait: an operation takes as long as its commit, whatever
// there was before.
func TestLoneCallerDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.slowness = 200 * time.Microsecond
		busy(16, 40, 0, func(int) { write(t, e) })
		time.Sleep(2 * longestWait)
		for range 3 {
			began := time.Now()
			write(t, e)
			if took := time.Since(began); took != d.slowness {
				t.Errorf("the write of a lone caller took %v, want %v", took, d.slowness)
			}
		}
	})
}

// TestCrowdThatLeft: who stays behind when all others stop waits for them once,
// and not for long.
func TestCrowdThatLeft(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.slowness = 200 * time.Microsecond
		busy(16, 40, 0, func(int) { write(t, e) })
		began := time.Now()
		for range 20 {
			write(t, e)
		}
		if took, most := time.Since(began), 20*d.slowness+longestWait; took > most {
			t.Errorf("twenty writes after the others left took %v, want at most %v", took, most)
		}
	})
}

// TestBatchesAreNotAwaited: callers of the store come in batches of their
// client's making, and after a large one nobody waits for more.
func TestBatchesAreNotAwaited(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.slowness = 200 * time.Microsecond
		busy(16, 1, 0, func(worker int) { acquire(t, e, fmt.Sprint(worker), "a", time.Minute) })
		began := time.Now()
		acquire(t, e, "alone", "a", time.Minute)
		if took := time.Since(began); took != d.slowness {
			t.Errorf("an acquire after a batch took %v, want %v", took, d.slowness)
		}
	})
}

// TestCloseDoesNotAwaitACrowd: what is pending is written at once.
func TestCloseDoesNotAwaitACrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := open(t, d)
		e.crowd = crowd{size: 1000, took: time.Hour, since: time.Now()}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			write(t, e)
		}()
		synctest.Wait() // it waits for others
		began := time.Now()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("Close took %v, want no time", took)
		}
		<-answered
	})
}
