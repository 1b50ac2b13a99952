package leasehold

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// TestCloseWaitsForWork: contexts end at once, leases only when fn has returned,
// and are kept until then.
func TestCloseWaitsForWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		handle := mustTry(t, m, "handle")
		done := make(chan error, 1)
		var cancelled, stopped time.Time
		go func() {
			done <- m.Do(t.Context(), "work", func(ctx context.Context, h *Held) error {
				<-ctx.Done()
				cancelled = time.Now()
				wantErr(t, "the cause", context.Cause(ctx), ErrLost, errClosed)
				time.Sleep(10 * time.Minute)
				stopped = time.Now()
				if h.Err() != nil || s.state("work").State != StateActive {
					t.Errorf("Err() = %v, the row is %v while fn runs", h.Err(), s.state("work").State)
				}
				return nil
			})
		}()
		time.Sleep(time.Minute)
		start := time.Now()
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("Do = %v", err)
		}
		if !cancelled.Equal(start) || !stopped.Equal(time.Now()) {
			t.Errorf("fn's context ended after %v, Close returned after %v, want at once and 10m", cancelled.Sub(start), time.Since(start))
		}
		wantLost(t, handle, ReasonReleased)
		for _, r := range []string{"work", "handle"} {
			if s.state(r).State != StateReleased {
				t.Errorf("%s is %v, want released", r, s.state(r).State)
			}
		}
		_, err := m.TryAcquire(t.Context(), "b")
		wantErr(t, "TryAcquire after Close", err, ErrUnavailable, errClosed)
		wantErr(t, "Do after Close", m.Do(t.Context(), "b", nil), errClosed)
		wantErr(t, "Lead after Close", m.Lead(t.Context(), "b", nil), errClosed)
		if err := m.Close(ended()); err != nil {
			t.Errorf("Close again = %v", err)
		}
	})
}

// TestCloseSparesTheLeaseOfRunningWork: it is not released; it expires.
func TestCloseSparesTheLeaseOfRunningWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		handle := mustTry(t, m, "handle")
		done := make(chan error, 1)
		go func() {
			done <- m.Do(t.Context(), "work", func(ctx context.Context, h *Held) error {
				time.Sleep(time.Hour) // ignores its context
				return nil
			})
		}()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		err := m.Close(ctx)
		wantErr(t, "Close", err, ErrTimeout, context.DeadlineExceeded)
		if took := time.Since(start); took != 10*time.Second {
			t.Errorf("Close took %v, want 10s", took)
		}
		if s.state("work").State != StateActive || s.state("handle").State != StateReleased {
			t.Errorf("work is %v, handle is %v, want active, released", s.state("work").State, s.state("handle").State)
		}
		wantLost(t, handle, ReasonReleased)
		time.Sleep(time.Minute)
		if s.state("work").State != StateExpired {
			t.Errorf("work is %v a minute later, want expired", s.state("work").State)
		}
		wantErr(t, "Do", <-done, ErrLost)
	})
}

// TestCloseEndsWaits: waiting calls end.
func TestCloseEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeQueue{fakeStore: newFakeStore()}
		mustTry(t, newManager(t, s, nil), "a")
		m := newManager(t, s, nil)
		waits := make(chan error, 1)
		go func() {
			_, err := m.Acquire(t.Context(), "a")
			waits <- err
		}()
		time.Sleep(time.Hour)
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		wantErr(t, "Acquire", <-waits, ErrUnavailable, errClosed)
	})
}

// TestCloseWithoutStore: many leases and a store that is down take no longer than
// one.
func TestCloseWithoutStore(t *testing.T) {
	for name, fault := range map[string]func(context.Context, string, string) error{
		"down":  func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} },
		"hangs": func(ctx context.Context, _, _ string) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				m := newManager(t, s, nil)
				for i := range 1000 {
					mustTry(t, m, fmt.Sprint(i))
				}
				s.hook(fault, nil)
				start := time.Now()
				wantErr(t, "Close", m.Close(t.Context()), ErrUnavailable)
				if took := time.Since(start); took > 2*releaseTimeout {
					t.Errorf("Close took %v, want about %v", took, releaseTimeout)
				}
			})
		})
	}
}

// TestCloseReleasesAfterItsContext: an ended context does not prevent the release of
// idle leases, but a store that hangs does.
func TestCloseReleasesAfterItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		mustTry(t, m, "a")
		if err := m.Close(ended()); err != nil || s.state("a").State != StateReleased {
			t.Errorf("Close = %v, the row is %v, want released", err, s.state("a").State)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		for i := range 10 * maxReleases {
			mustTry(t, m, fmt.Sprint(i))
		}
		s.hook(func(ctx context.Context, _, _ string) error { time.Sleep(2 * time.Second); return nil }, nil)
		start := time.Now()
		wantErr(t, "Close", m.Close(ended()), ErrUnavailable)
		if took := time.Since(start); took < releaseTimeout || took > releaseTimeout+2*time.Second {
			t.Errorf("Close took %v, want %v beyond its context", took, releaseTimeout)
		}
	})
}

// TestCloseTwice: the second call waits for the first.
func TestCloseTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, newFakeStore(), nil)
		go m.Do(t.Context(), "a", func(context.Context, *Held) error { time.Sleep(time.Minute); return nil })
		synctest.Wait()
		start := time.Now()
		go m.Close(context.Background())
		synctest.Wait()
		wantErr(t, "Close with an ended context", m.Close(ended()), ErrTimeout, context.Canceled)
		if err := m.Close(t.Context()); err != nil || time.Since(start) != time.Minute {
			t.Errorf("Close = %v after %v, want nil after 1m", err, time.Since(start))
		}
	})
}

// TestCloseWithAStuckObserver: Close says so rather than waiting for ever.
func TestCloseWithAStuckObserver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		m := newManager(t, newFakeStore(), &Options{Observe: func(Event) { <-free }})
		mustTry(t, m, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, "Close", m.Close(ctx), ErrTimeout, context.DeadlineExceeded)
		close(free)
	})
}

// TestContextAfterClose: a context that is made only now has ended.
func TestContextAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newManager(t, newFakeStore(), nil)
		h := mustTry(t, m, "a")
		m.startClose()
		wantErr(t, "the cause", context.Cause(h.Context()), ErrLost, errClosed)
		if err := h.Err(); err != nil {
			t.Errorf("Err() = %v, want nil: it is not released yet", err)
		}
		m.closing = nil // let the cleanup close it properly
	})
}
