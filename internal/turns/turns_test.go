package turns

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// All work together takes its share and no more.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const share, workers, steps, each = 0.1, 100, 10, 100 * time.Microsecond
		turns := New(share, time.Millisecond)
		began := time.Now()
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range steps {
					turns.Do(t.Context(), func() error { time.Sleep(each); return nil })
				}
			})
		}
		wg.Wait()
		busy := time.Duration(workers * steps * each)
		want := time.Duration(float64(busy) / (share * float64(runtime.GOMAXPROCS(0))))
		if took := time.Since(began); took < want-2*burst || took > want+2*burst {
			t.Errorf("steps of %v took %v, want about %v", busy, took, want)
		}
	})
}

// Work after a quiet time does not pause.
func TestBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(0.1, 0)
		began := time.Now()
		for range 5 {
			turns.Do(t.Context(), func() error { time.Sleep(100 * time.Microsecond); return nil })
		}
		if took := time.Since(began); took != 500*time.Microsecond {
			t.Errorf("a few steps took %v, want no more than themselves", took)
		}
	})
}

// A blocked step does not block the others.
func TestStuckStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(0.1, time.Millisecond)
		stuck := make(chan struct{})
		for range cap(turns.free) {
			go turns.Do(t.Context(), func() error { <-stuck; return nil })
		}
		synctest.Wait()
		began := time.Now()
		mine := errors.New("mine")
		if err := turns.Do(t.Context(), func() error { return mine }); err != mine {
			t.Errorf("Do = %v, want the step's own error", err)
		}
		if took := time.Since(began); took < time.Millisecond || took > time.Second {
			t.Errorf("it came after %v, want soon after 1 ms", took)
		}
		close(stuck)
	})
}

func TestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(0.1, 0)
		for range cap(turns.free) {
			<-turns.free
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		left := errors.New("left")
		cancel(left)
		if err := turns.Do(ctx, func() error { return nil }); err != left {
			t.Errorf("Do = %v, want why the context ended", err)
		}
	})
}
