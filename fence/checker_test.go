package fence

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCheckerKeepsTheHighest(t *testing.T) {
	var c Checker
	steps := []struct {
		resource string
		token    uint64
		want     error
	}{
		{"a", 5, nil},
		{"a", 5, nil}, // one holder writes more than once
		{"a", 4, &StaleError{Resource: "a", Token: 4, Seen: 5}},
		{"b", 4, nil}, // each resource for itself
		{"a", 9, nil},
		{"a", 8, &StaleError{Resource: "a", Token: 8, Seen: 9}},
		{"a", MaxToken, nil},
	}
	for i, s := range steps {
		if err := c.Check(s.resource, s.token); !cmp.Equal(err, s.want) {
			t.Errorf("step %d: Check(%q, %d) = %v, want %v", i, s.resource, s.token, err, s.want)
		}
	}
	if got := c.Seen("a"); got != MaxToken {
		t.Errorf("Seen(a) = %d, want %d", got, uint64(MaxToken))
	}
	if got := c.Seen("never"); got != 0 {
		t.Errorf("Seen(never) = %d, want 0", got)
	}
}

func TestCheckerRefusesWhatIsNoToken(t *testing.T) {
	var c Checker
	for _, token := range []uint64{0, MaxToken + 1, 1<<64 - 1} {
		if err := c.Check("a", token); !errors.Is(err, ErrToken) || errors.Is(err, ErrStale) {
			t.Errorf("Check(a, %d) = %v, want ErrToken", token, err)
		}
	}
	if got := c.Seen("a"); got != 0 {
		t.Errorf("Seen(a) after refusals = %d, want 0", got)
	}
}

func TestStaleErrorNamesBothTokens(t *testing.T) {
	var c Checker
	if err := c.Check("invoices", 34); err != nil {
		t.Fatal(err)
	}
	err := fmt.Errorf("write: %w", c.Check("invoices", 33))
	if !errors.Is(err, ErrStale) {
		t.Errorf("Check(invoices, 33) = %v, want ErrStale", err)
	}
	const want = `write: stale fencing token 33 for "invoices": 34 has been seen, so a newer holder is at work`
	if err.Error() != want {
		t.Errorf("Check(invoices, 33) = %q, want %q", err, want)
	}
}

func TestDoRunsOnlyWhatPasses(t *testing.T) {
	var c Checker
	failed := errors.New("disk full")
	if err := c.Do("a", 2, func() error { return failed }); err != failed {
		t.Errorf("Do(a, 2) = %v, want the write's own error", err)
	}
	// The token counts although the write failed: its holder was the newest.
	err := c.Do("a", 1, func() error { t.Error("a stale write ran"); return nil })
	if !errors.Is(err, ErrStale) {
		t.Errorf("Do(a, 1) = %v, want ErrStale", err)
	}
}

func TestDoUnlocksAfterAPanic(t *testing.T) {
	var c Checker
	func() {
		defer func() { _ = recover() }()
		_ = c.Do("a", 1, func() error { panic("bug in the write") })
	}()
	if err := c.Check("a", 1); err != nil {
		t.Errorf("Check(a, 1) after a panic = %v, want nil", err)
	}
}

func TestDoKeepsOthersOut(t *testing.T) {
	var c Checker
	inside, finish := make(chan struct{}), make(chan struct{})
	done := make(chan error)
	go func() {
		done <- c.Do("a", 1, func() error { close(inside); <-finish; return nil })
	}()
	<-inside
	if err := c.Check("b", 1); err != nil { // would hang if the lock were shared
		t.Errorf("Check(b, 1) during a write to a = %v, want nil", err)
	}
	order := make(chan string, 2)
	go func() {
		done <- c.Do("a", 2, func() error { order <- "newer"; return nil })
	}()
	order <- "older"
	close(finish)
	for range 2 {
		if err := <-done; err != nil {
			t.Errorf("Do = %v, want nil", err)
		}
	}
	if first, second := <-order, <-order; first != "older" || second != "newer" {
		t.Errorf("writes ran as %s, %s; want older, newer", first, second)
	}
}

func TestForget(t *testing.T) {
	var c Checker
	if err := c.Check("a", 7); err != nil {
		t.Fatal(err)
	}
	c.Forget("a")
	c.Forget("never seen")
	if got := c.Seen("a"); got != 0 {
		t.Errorf("Seen(a) after Forget = %d, want 0", got)
	}
	if err := c.Check("a", 1); err != nil {
		t.Errorf("Check(a, 1) after Forget = %v, want nil", err)
	}
	if n := len(c.entries); n != 1 {
		t.Errorf("%d entries are kept, want 1", n)
	}
}

// Writes to one resource never overlap, also while it is being forgotten.
func TestForgetDuringWrites(t *testing.T) {
	var c Checker
	var wg sync.WaitGroup
	writers := 0 // unguarded on purpose: the race detector watches it
	for range 8 {
		wg.Go(func() {
			for i := range 200 {
				if i%3 == 0 {
					c.Forget("a")
				}
				err := c.Do("a", 1, func() error {
					writers++
					defer func() { writers-- }()
					if writers != 1 {
						t.Errorf("%d writers at once, want 1", writers)
					}
					return nil
				})
				if err != nil {
					t.Errorf("Do(a, 1) = %v, want nil", err)
				}
			}
		})
	}
	wg.Wait()
}

// Tokens that pass never go down, whatever the order and the concurrency.
func TestCheckerUnderLoad(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tokens := rapid.SliceOfN(rapid.Uint64Range(1, 20), 1, 60).Draw(t, "tokens")
		var c Checker
		var passed []uint64
		var wg sync.WaitGroup
		for _, token := range tokens {
			wg.Go(func() {
				_ = c.Do("a", token, func() error { passed = append(passed, token); return nil })
			})
		}
		wg.Wait()
		highest := uint64(0)
		for _, token := range passed {
			if token < highest {
				t.Fatalf("token %d passed after %d: %v", token, highest, passed)
			}
			highest = token
		}
		if got := c.Seen("a"); got != highest {
			t.Fatalf("Seen(a) = %d, want %d", got, highest)
		}
	})
}

// The size stands in Checker's comment; this keeps it true.
func TestCheckerSize(t *testing.T) {
	const resources = 100_000
	names := make([]string, resources)
	for i := range names {
		names[i] = fmt.Sprintf("resource-%d", i)
	}
	var c Checker
	before := heapInUse()
	for _, name := range names {
		if err := c.Check(name, 1); err != nil {
			t.Fatal(err)
		}
	}
	each := float64(heapInUse()-before) / resources
	t.Logf("%.0f bytes a resource", each)
	if each > 130 {
		t.Errorf("a resource takes %.0f bytes, want about 100", each)
	}
	runtime.KeepAlive(&c)
	runtime.KeepAlive(names)
}

func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
