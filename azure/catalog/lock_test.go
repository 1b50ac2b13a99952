package catalog

import (
	"runtime"
	"sync"
	"testing"
)

func TestLocksAreKeptApartByName(t *testing.T) {
	var l locks
	var wg sync.WaitGroup
	unlockA := l.lock("a")
	l.lock("b")()
	entered := make(chan struct{})
	wg.Go(func() {
		defer l.share("a")()
		close(entered)
	})
	for l.waiting("a") < 2 {
		runtime.Gosched()
	}
	select {
	case <-entered:
		t.Error("somebody shares what another has alone")
	default:
	}
	unlockA()
	wg.Wait() // for ever if a free lock is not had
	if len(l.held) != 0 {
		t.Errorf("%d locks are kept that nobody has", len(l.held))
	}
}

// waiting counts those who have the lock or wait for it.
func (l *locks) waiting(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held[name].users
}

func TestLocksAreShared(t *testing.T) {
	var l locks
	first := l.share("a")
	l.share("a")() // would block for ever if it were not
	first()
}

func TestLocksUnderLoad(t *testing.T) {
	var l locks
	var wg sync.WaitGroup
	counts := map[string]*int{"a": new(int), "b": new(int)}
	for range 8 {
		wg.Go(func() {
			for range 500 {
				for name, n := range counts {
					unlock := l.lock(name)
					*n++
					unlock()
				}
			}
		})
	}
	wg.Wait()
	for name, n := range counts {
		if *n != 4000 {
			t.Errorf("lock %q let %d of 4000 increments through", name, *n)
		}
	}
	if len(l.held) != 0 {
		t.Errorf("%d locks are kept that nobody has", len(l.held))
	}
}
