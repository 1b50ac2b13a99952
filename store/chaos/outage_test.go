package chaos_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/memory"
)

func TestDownRefusesAndDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		s.SetDown(true)
		s.SetDown(true) // twice is once
		_, err := s.Acquire(t.Context(), request("r", "h"))
		wantError(t, "Acquire(r) while down", err, leasehold.ErrUnavailable)
		if got := holder(t, inner, "r"); got != "" {
			t.Errorf("holder while down = %q, want none", got)
		}
		s.SetDown(false)
		mustAcquire(t, s, request("r", "h"))
		if got := s.Calls()[chaos.OpAcquire]; got != 1 {
			t.Errorf("Calls()[acquire] = %d, want 1", got)
		}
	})
}

// An outage cuts off what is under way: the store sees a caller leave, the
// caller does not learn what the store did.
func TestDownCutsCallsUnderWay(t *testing.T) {
	late := func(f chaos.Fault) chaos.Policy { return chaos.Only(chaos.Always(f), chaos.OpAcquire) }
	tests := []struct {
		name     string
		policy   chaos.Policy
		happened bool
	}{
		{"on its way to the store", late(chaos.Delay(time.Minute)), false},
		{"on its way back", late(chaos.LateAnswer(time.Minute)), true},
		{"hung", late(chaos.Timeout), false},
		{"hung on its way back", late(chaos.TimeoutUnknown), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, tt.policy)
				answer := make(chan error)
				go func() {
					_, err := s.Acquire(t.Context(), request("r", "h"))
					answer <- err
				}()
				time.Sleep(time.Second)
				s.SetDown(true)
				start := time.Now()
				wantError(t, "Acquire(r)", <-answer, leasehold.ErrUnknown)
				if took := time.Since(start); took != 0 {
					t.Errorf("Acquire(r) ended %v after the cut, want at once", took)
				}
				if got := holder(t, inner, "r") == "h"; got != tt.happened {
					t.Errorf("Acquire(r) happened: %t, want %t", got, tt.happened)
				}
			})
		})
	}
}

func TestDownDropsWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		mustAcquire(t, inner, request("r", "first"))
		answer := make(chan error)
		r := request("r", "second")
		r.ID, r.Timeout = leasehold.ID{}, leasehold.NoTimeout
		go func() {
			_, err := s.Wait(t.Context(), r)
			answer <- err
		}()
		synctest.Wait()
		if st, _ := inner.Status(t.Context(), "r"); len(st.Waiters) != 1 {
			t.Fatalf("Status(r) has %d waiters, want 1", len(st.Waiters))
		}
		s.SetDown(true)
		wantError(t, "Wait(r)", <-answer, leasehold.ErrUnknown)
		synctest.Wait()
		if st, _ := inner.Status(t.Context(), "r"); len(st.Waiters) != 0 {
			t.Errorf("Status(r) has %d waiters after the cut, want none", len(st.Waiters))
		}
	})
}

func TestDownEndsWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		ended, seen := make(chan error), 0
		go func() {
			ended <- s.Watch(t.Context(), leasehold.WatchRequest{}, func(leasehold.Notice) error {
				seen++
				return nil
			})
		}()
		synctest.Wait()
		mustAcquire(t, inner, request("r", "h"))
		synctest.Wait()
		s.SetDown(true)
		wantError(t, "Watch()", <-ended, leasehold.ErrUnknown)
		if seen != 1 {
			t.Errorf("Watch() told of %d events, want 1", seen)
		}
	})
}

// Calls that set out after the outage have nothing to do with it.
func TestUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := faulty(t, chaos.Always(chaos.LateAnswer(time.Second)))
		for range 3 {
			s.SetDown(true)
			s.SetDown(false)
			mustAcquire(t, s, request("r", "h"))
			time.Sleep(time.Hour) // it has long expired
		}
	})
}

func TestCloseEndsHungCalls(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"hung": chaos.Timeout, "hung on its way back": chaos.TimeoutUnknown,
		"delayed": chaos.Delay(time.Hour), "late": chaos.LateAnswer(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := faulty(t, chaos.Always(f))
				answer := make(chan error)
				go func() {
					_, err := s.Acquire(context.Background(), request("r", "h"))
					answer <- err
				}()
				synctest.Wait()
				s.Close()
				wantError(t, "Acquire(r)", <-answer, leasehold.ErrUnknown)
				_, err := s.Acquire(t.Context(), request("r", "h"))
				wantError(t, "Acquire(r) on a closed store", err, leasehold.ErrUnavailable)
			})
		})
	}
}

// Replace is a restart: the lease is gone with the memory store that knew it.
func TestReplace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, first := faulty(t, nil)
		g := mustAcquire(t, s, request("r", "h"))
		if old := s.Replace(memory.New()); old != leasehold.Store(first) {
			t.Errorf("Replace(…) = %v, want the store before", old)
		}
		first.Close()
		_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
		wantError(t, "Renew(r) after the restart", err, leasehold.ErrNotFound)
	})
}

// A call that is on its way while the store is replaced meets the new one,
// even if that can do less.
func TestReplaceUnderway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, first := faulty(t, chaos.Always(chaos.Delay(time.Second)))
		answers := make(chan error, 2)
		go func() {
			_, err := s.Acquire(t.Context(), request("r", "h"))
			answers <- err
		}()
		go func() {
			_, err := s.Cleanup(t.Context())
			answers <- err
		}()
		synctest.Wait()
		second := memory.New()
		s.Replace(struct{ leasehold.Store }{second})
		first.Close()
		if err := errors.Join(<-answers, <-answers); !errors.Is(err, leasehold.ErrUnsupported) || errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Acquire(r) and Cleanup() = %v, want only the latter unsupported", err)
		}
		if got := holder(t, second, "r"); got != "h" {
			t.Errorf("holder in the new store = %q, want %q", got, "h")
		}
	})
}
