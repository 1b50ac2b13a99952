package leasehold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// failRenewals answers every renewal with an error while it is on.
func failRenewals(err error) func(context.Context, string, string) error {
	return func(_ context.Context, op, _ string) error {
		if op == "renew" {
			return err
		}
		return nil
	}
}

func TestRenewsAtTheInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var log recorder
		m := newManager(t, s, &Options{Observe: log.observe})
		h := mustTry(t, m, "a")
		start := time.Now()
		time.Sleep(2*time.Minute + time.Second)
		wantHeld(t, h)
		want := []time.Duration{40 * time.Second, 80 * time.Second, 120 * time.Second}
		if diff := cmp.Diff(want, s.renewed["a"]); diff != "" {
			t.Errorf("renewed at -want +got:\n%s", diff)
		}
		if h.Renewals() != 3 || !h.ExpiresAt().Equal(start.Add(3*time.Minute)) {
			t.Errorf("Renewals() = %d, ExpiresAt() = %v, want 3 and %v: a renewal counts from now, not from the first grant", h.Renewals(), h.ExpiresAt(), start.Add(3*time.Minute))
		}
		e := log.all()[2].(Renewed)
		if !e.NewExpiry.Equal(h.ExpiresAt()) || e.Resource != "a" || e.Token != h.Token() || e.Holder != m.Holder() || !e.Info().Time.Equal(start.Add(2*time.Minute)) {
			t.Errorf("the third event = %+v", e)
		}
	})
}

func TestNoAutoRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a", AcquireOptions{NoAutoRenew: true})
		time.Sleep(50 * time.Second)
		if err := h.Renew(t.Context()); err != nil {
			t.Errorf("Renew = %v", err)
		}
		time.Sleep(50 * time.Second)
		wantHeld(t, h)
		s.hook(failRenewals(&Error{Reason: ReasonUnavailable}), nil)
		wantErr(t, "Renew while the store is down", h.Renew(t.Context()), ErrUnavailable)
		wantHeld(t, h)
		time.Sleep(4 * time.Second)
		wantLost(t, h, ReasonExpired)
		if n := s.count("renew"); n != 2 {
			t.Errorf("%d renewals were sent, want 2", n)
		}
	})
}

// TestTransientErrorsAreNoLoss: only the line loses a lease whose store cannot be
// reached, and until then the renewal is repeated.
func TestTransientErrorsAreNoLoss(t *testing.T) {
	for name, err := range map[string]error{
		"unavailable": &Error{Reason: ReasonUnavailable},
		"throttled":   &Error{Reason: ReasonRateLimited, RetryAfter: time.Hour},
		"unknown":     &Error{Reason: ReasonUnknown},
		"timeout":     &Error{Reason: ReasonTimeout},
		"newer":       &Error{Reason: "a reason of tomorrow"},
		"invalid":     &Error{Reason: ReasonInvalid},
		"unsupported": &Error{Reason: ReasonUnsupported},
		"foreign":     io.ErrUnexpectedEOF,
		"deadline":    context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				s.before = failRenewals(err)
				var log recorder
				m := newManager(t, s, &Options{Observe: log.observe})
				h := mustTry(t, m, "a")
				start := time.Now()
				time.Sleep(54*time.Second - 1)
				wantHeld(t, h)
				<-h.Context().Done()
				if got := time.Since(start); got != 54*time.Second {
					t.Errorf("lost after %v, want 54s", got)
				}
				wantLost(t, h, ReasonExpired)
				wantErr(t, "Err()", h.Err(), ErrLost, err)
				events := log.all()
				last := events[len(events)-1].(Lost)
				if last.Reason != ReasonExpired || !last.LastSuccess.Equal(start) {
					t.Errorf("the last event = %+v, want Lost, last success %v", last, start)
				}
				if attempts := len(events) - 1; attempts < 4 {
					t.Errorf("%d attempts, want at least the quick ones", attempts)
				}
				for i, e := range events[:len(events)-1] {
					f := e.(RenewalFailed)
					if f.Attempt != i+1 || f.WillRetry != (i < len(events)-2) {
						t.Errorf("event %d of %d = %+v", i, len(events), f)
					}
				}
			})
		})
	}
}

// TestRetriesDouble: quick retries, each pause at most twice the last, then at
// the last interval.
func TestRetriesDouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.before = failRenewals(&Error{Reason: ReasonUnavailable})
		var log recorder
		m := newManager(t, s, &Options{TTL: 100 * time.Second, RenewInterval: 50 * time.Second, RenewRetryInterval: time.Second, Observe: log.observe})
		mustTry(t, m, "a")
		time.Sleep(91 * time.Second)
		var at []time.Time
		for _, e := range log.all() {
			at = append(at, e.Info().Time)
		}
		for i, most := range []time.Duration{1, 2, 4, 4, 4, 4} {
			most *= time.Second
			if pause := at[i+1].Sub(at[i]); pause < most/2 || pause > most {
				t.Errorf("pause %d = %v, want %v to %v", i+1, pause, most/2, most)
			}
		}
	})
}

func TestNoQuickRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.before = failRenewals(&Error{Reason: ReasonUnavailable})
		m := newManager(t, s, &Options{RenewMaxRetries: -1, RenewRetryInterval: 2 * time.Second})
		h := mustTry(t, m, "a")
		time.Sleep(51 * time.Second)
		if n := s.count("renew"); n < 6 || n > 12 {
			t.Errorf("%d renewals in 11s, want one every 1s to 2s: it never stops trying", n)
		}
		s.hook(nil, nil)
		time.Sleep(time.Minute)
		wantHeld(t, h)
	})
}

// TestOutageThatEndsBeforeTheLine costs nothing, however near the line it ends.
func TestOutageThatEndsBeforeTheLine(t *testing.T) {
	for left := 200 * time.Millisecond; left < 14*time.Second; left += 300 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeStore()
			s.before = failRenewals(&Error{Reason: ReasonUnavailable})
			h := mustTry(t, newManager(t, s, nil), "a")
			time.Sleep(54*time.Second - left)
			s.hook(nil, nil)
			time.Sleep(time.Minute)
			if err := h.Err(); err != nil {
				t.Errorf("an outage that ended %v before the line: Err() = %v", left, err)
			}
		})
	}
}

// TestDefinitiveAnswersLoseAtOnce, each with its reason.
func TestDefinitiveAnswersLoseAtOnce(t *testing.T) {
	for _, reason := range []Reason{
		ReasonExpired, ReasonReleased, ReasonBroken, ReasonNotFound, ReasonTokenMismatch, ReasonIDMismatch,
		ReasonForbidden, ReasonHolderMismatch, ReasonHeld,
	} {
		t.Run(string(reason), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				cause := errors.New("the store's own words")
				answer := &Error{Reason: reason, Op: "renew", Cause: cause}
				if reason == ReasonNotFound {
					answer.Cause, cause = nil, ErrNotFound
				}
				s.before = failRenewals(answer)
				var log recorder
				m := newManager(t, s, &Options{Observe: log.observe})
				h := mustTry(t, m, "a")
				time.Sleep(40*time.Second - 1)
				wantHeld(t, h)
				time.Sleep(time.Nanosecond)
				synctest.Wait()
				wantLost(t, h, reason)
				wantErr(t, "Err()", h.Err(), reason.Sentinel(), cause)
				if diff := cmp.Diff([]string{"RenewalFailed", "Lost"}, log.kinds()); diff != "" {
					t.Errorf("events -want +got:\n%s", diff)
				}
				if f := log.all()[0].(RenewalFailed); f.WillRetry || f.Attempt != 1 {
					t.Errorf("RenewalFailed = %+v, want no retry", f)
				}
				if l := log.all()[1].(Lost); l.Reason != reason {
					t.Errorf("Lost.Reason = %q, want %q", l.Reason, reason)
				}
				wantErr(t, "Renew of a lost lease", h.Renew(t.Context()), ErrLost)
				wantErr(t, "Release of a lost lease", h.Release(t.Context()), ErrLost)
				if s.count("renew") != 1 || s.count("release") != 0 {
					t.Errorf("%d renewals, %d releases sent, want 1 and 0: the store has spoken", s.count("renew"), s.count("release"))
				}
			})
		})
	}
}

// TestRevivedLeaseIsLost: a store that revives an expired lease by a renewal
// gives it another token, and in between it was free.
func TestRevivedLeaseIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		m.mu.Lock()
		m.apply(h, m.clock.now(), Lease{Token: h.token + 1, TTL: time.Minute}, nil, m.clock.now())
		m.mu.Unlock()
		wantLost(t, h, ReasonExpired)
	})
}

// TestLateAnswerRestoresNothing: the store said yes, but too late.
func TestLateAnswerRestoresNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		s.hook(nil, func(_ context.Context, op, _ string) error {
			if op == "renew" {
				time.Sleep(20 * time.Second) // whatever the deadline says
			}
			return nil
		})
		start := time.Now()
		<-h.Context().Done()
		if got := time.Since(start); got != 54*time.Second {
			t.Errorf("lost after %v, want 54s", got)
		}
		time.Sleep(time.Minute)
		wantLost(t, h, ReasonExpired)
		if h.Renewals() != 0 {
			t.Errorf("Renewals() = %d, want 0", h.Renewals())
		}
	})
}

// TestHangingRenewalIsCancelledAndRepeated: a request that gets no answer leaves time
// for another.
func TestHangingRenewalIsCancelledAndRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var log recorder
		m := newManager(t, s, &Options{Observe: log.observe})
		h := mustTry(t, m, "a")
		n := 0
		s.hook(func(ctx context.Context, op, _ string) error {
			if n++; n == 1 {
				<-ctx.Done()
				return &Error{Reason: ReasonUnknown, Cause: ctx.Err()}
			}
			return nil
		}, nil)
		time.Sleep(54 * time.Second)
		wantHeld(t, h)
		if diff := cmp.Diff([]string{"RenewalFailed", "Renewed"}, log.kinds()); diff != "" {
			t.Errorf("events -want +got:\n%s", diff)
		}
	})
}

// TestStoreThatNeverAnswers: the loss is declared at the line all the same.
func TestStoreThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		free := make(chan struct{})
		s.hook(func(context.Context, string, string) error { <-free; return nil }, nil) // ignores its context
		start := time.Now()
		<-h.Context().Done()
		if got := time.Since(start); got != 54*time.Second {
			t.Errorf("lost after %v, want 54s", got)
		}
		close(free)
	})
}

func TestRenew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "a")
		time.Sleep(30 * time.Second)
		if err := h.Renew(t.Context()); err != nil || h.Renewals() != 1 {
			t.Errorf("Renew = %v, Renewals() = %d, want nil, 1", err, h.Renewals())
		}
		time.Sleep(39 * time.Second)
		if h.Renewals() != 1 {
			t.Errorf("Renewals() = %d after 39s, want 1: the interval counts from the manual renewal", h.Renewals())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if h.Renewals() != 2 {
			t.Errorf("Renewals() = %d, want 2", h.Renewals())
		}
		wantErr(t, "Renew with an ended context", h.Renew(ended()), ErrUnknown, context.Canceled)
		wantHeld(t, h)
		other := mustTry(t, m, "b")
		s.breakLease("b", 0)
		wantErr(t, "Renew of a broken lease", other.Renew(t.Context()), ErrLost)
		wantLost(t, other, ReasonBroken)
		s.hook(func(ctx context.Context, _, _ string) error { <-ctx.Done(); return io.EOF }, nil)
		start := time.Now()
		wantErr(t, "Renew that hangs", h.Renew(t.Context()), ErrUnknown, io.EOF)
		if took := time.Since(start); took != callTimeout {
			t.Errorf("Renew took %v, want %v", took, callTimeout)
		}
		h.Release(t.Context())
	})
}

// TestRenewalsCross: of two renewals the later one counts, whichever answer
// comes first, and an old failure is no news.
func TestRenewalsCross(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var log recorder
		m := newManager(t, s, &Options{TTL: time.Minute, RenewInterval: time.Second, Observe: log.observe})
		h := mustTry(t, m, "a")
		var n atomic.Int32
		s.hook(func(ctx context.Context, _, _ string) error {
			if n.Add(1) == 1 {
				time.Sleep(10 * time.Second)
				return &Error{Reason: ReasonUnavailable}
			}
			return nil
		}, nil)
		time.Sleep(1500 * time.Millisecond) // the first renewal is under way
		if err := h.Renew(t.Context()); err != nil {
			t.Errorf("Renew = %v", err)
		}
		time.Sleep(20 * time.Second)
		wantHeld(t, h)
		for _, kind := range log.kinds() {
			if kind != "Renewed" {
				t.Errorf("events = %v, want Renewed only", log.kinds())
			}
		}
		if h.Renewals() < 8 {
			t.Errorf("Renewals() = %d, want one a second after the old one landed", h.Renewals())
		}
		m.mu.Lock()
		since := h.since
		m.applySuccess(h, since-time.Second, Lease{TTL: time.Minute}, m.clock.now())
		if h.since != since {
			t.Errorf("a late answer to an early renewal moved the start to %v, want %v", h.since, since)
		}
		m.mu.Unlock()
	})
}

// TestManyDueAtOnce: more than the scheduler does in one go.
func TestManyDueAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		var held []*Held
		for i := range 3 * maxDuePerPass {
			held = append(held, mustTry(t, m, fmt.Sprint(i)))
		}
		time.Sleep(2 * time.Minute)
		for _, h := range held {
			if h.Err() != nil || h.Renewals() < 2 {
				t.Fatalf("%s: Err() = %v, Renewals() = %d, want nil, 2 at least", h.Resource(), h.Err(), h.Renewals())
			}
		}
	})
}
