package leasehold

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"
)

// onNth runs f at the n-th request of a kind, counted from 1.
func onNth(op string, n int, f func(ctx context.Context) error) func(context.Context, string, string) error {
	seen := 0
	return func(ctx context.Context, got, _ string) error {
		if got == op {
			seen++
		}
		if got == op && seen == n {
			return f(ctx)
		}
		return nil
	}
}

func lostAnswer(context.Context) error { return &Error{Reason: ReasonUnknown, Op: "acquire"} }

// TestLostAnswerIsRequestedAgain: the grant happened, the answer did not arrive. The
// same id gets the same lease.
func TestLostAnswerIsRequestedAgain(t *testing.T) {
	for name, lost := range map[string]func(context.Context) error{
		"unknown": lostAnswer,
		"foreign": func(context.Context) error { return io.ErrUnexpectedEOF },
		"hung":    func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				s.after = onNth("acquire", 1, lost)
				h := mustTry(t, newManager(t, s, nil), "a")
				wantHeld(t, h)
				if h.Token() != 1 || s.count("acquire") != 2 || h.Renewals() != 1 {
					t.Errorf("token %d after %d requests, want the first lease after two", h.Token(), s.count("acquire"))
				}
			})
		})
	}
}

// TestNoOrphanAfterLostAnswers: a grant that nobody knows of for certain is
// released, even one that the store makes only after the release.
func TestNoOrphanAfterLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.after = func(_ context.Context, op, _ string) error {
			if op == "acquire" {
				return lostAnswer(context.Background())
			}
			return nil
		}
		m := newManager(t, s, nil)
		_, err := m.TryAcquire(t.Context(), "a")
		wantErr(t, "TryAcquire with every answer lost", err, ErrUnknown)
		synctest.Wait()
		if got := s.state("a").State; got != StateReleased {
			t.Errorf("the row is %v, want released", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.before = func(ctx context.Context, op, _ string) error {
			if op != "acquire" {
				return nil
			}
			<-ctx.Done()
			go func() { // still on its way when the caller has given up
				time.Sleep(time.Second)
				s.mu.Lock()
				defer s.mu.Unlock()
				s.rows["a"].State, s.rows["a"].TTL = StateActive, time.Hour
			}()
			return context.Cause(ctx)
		}
		m := newManager(t, s, nil)
		id := NewID()
		s.rows["a"] = &fakeRow{Lease: Lease{Resource: "a", ID: id, Holder: m.Holder()}, ends: never}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		a, err := newAcquisition(ctx, m, "a", nil)
		if err != nil {
			t.Fatal(err)
		}
		a.req.ID = id
		if _, err := a.claim(ctx, (*acquisition).try); !errors.Is(err, ErrUnknown) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("TryAcquire = %v, want ErrUnknown and the deadline", err)
		}
		time.Sleep(releaseTimeout)
		if got := s.state("a").State; got != StateReleased {
			t.Errorf("the row is %v, want released", got)
		}
	})
}

// TestReleaseOfALostAnswerEnds: a lease whose request never arrived is released a
// few times, and Close does not wait for that.
func TestReleaseOfALostAnswerEnds(t *testing.T) {
	for name, closes := range map[string]bool{"until the deadline": false, "until Close": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				s.before = func(_ context.Context, op, _ string) error {
					if op == "acquire" {
						return lostAnswer(context.Background())
					}
					return nil
				}
				m := newManager(t, s, nil)
				_, err := m.TryAcquire(t.Context(), "a")
				wantErr(t, "TryAcquire", err, ErrUnknown)
				start := time.Now()
				if closes {
					if err := m.Close(t.Context()); err != nil || time.Since(start) != 0 {
						t.Errorf("Close = %v after %v, want nil at once", err, time.Since(start))
					}
				}
				time.Sleep(time.Hour)
				if n := s.count("release"); n < 1 || n > 10 || !closes && n < 5 {
					t.Errorf("%d releases were sent, want a few", n)
				}
			})
		})
	}
}

// TestProposedIDIsNotReleased: a caller that proposes an id may acquire again with
// it at any moment, so the Manager does not end that lease.
func TestProposedIDIsNotReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{Holder: "ann"})
		want := AcquireOptions{ID: NewID()}
		s.hook(nil, func(context.Context, string, string) error { return lostAnswer(context.Background()) })
		_, err := m.TryAcquire(t.Context(), "a", want)
		wantErr(t, "TryAcquire with every answer lost", err, ErrUnknown)
		s.hook(nil, nil)
		time.Sleep(releaseTimeout)
		h := mustTry(t, m, "a", want)
		if h.ID() != want.ID || h.Token() != 1 || s.count("release") != 0 {
			t.Errorf("TryAcquire with the same id: token %d after %d releases, want the first lease", h.Token(), s.count("release"))
		}
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		_, err = m.TryAcquire(t.Context(), "a", want)
		wantErr(t, "TryAcquire with a used id", err, ErrLost)
		_, err = m.Acquire(t.Context(), "a", want)
		wantErr(t, "Acquire with a used id", err, ErrLost)
	})
}

// TestLateGrantIsReleased: the context ends while the store grants.
func TestLateGrantIsReleased(t *testing.T) {
	for name, want := range map[string]AcquireOptions{"own id": {}, "foreign id": {ID: NewID()}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				ctx, cancel := context.WithCancel(t.Context())
				s.after = onNth("acquire", 1, func(context.Context) error { cancel(); return nil })
				m := newManager(t, s, nil)
				_, err := m.TryAcquire(ctx, "a", want)
				wantErr(t, "TryAcquire", err, ErrTimeout, context.Canceled)
				synctest.Wait()
				if got := s.state("a").State; got != StateReleased {
					t.Errorf("the row is %v, want released", got)
				}
			})
		})
	}
}

// TestGrantAsTheWaitIsCancelled: the store says only that the wait was cancelled,
// though it granted at the same moment.
func TestGrantAsTheWaitIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeQueue{fakeStore: newFakeStore()}
		ctx, cancel := context.WithCancel(t.Context())
		s.after = onNth("wait", 1, func(context.Context) error {
			cancel()
			return &Error{Reason: ReasonCancelled, Op: "acquire", Cause: context.Canceled}
		})
		m := newManager(t, s, nil)
		_, err := m.Acquire(ctx, "a")
		wantErr(t, "Acquire", err, ErrTimeout, context.Canceled)
		synctest.Wait()
		if got := s.state("a").State; got != StateReleased {
			t.Errorf("the row is %v, want released", got)
		}
	})
}

// TestGrantDuringClose: Close comes between the grant and its arrival, and waits
// until it is released.
func TestGrantDuringClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		s.after = onNth("acquire", 1, func(context.Context) error {
			go m.Close(context.Background())
			time.Sleep(time.Second)
			return nil
		})
		_, err := m.TryAcquire(t.Context(), "a")
		wantErr(t, "TryAcquire during Close", err, ErrUnavailable, errClosed)
		if err := m.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		if got := s.state("a").State; got != StateReleased {
			t.Errorf("the row is %v, want released", got)
		}
		h := &Held{r: &m.renewer, resource: "b"}
		wantErr(t, "keep after Close", m.add(h), ErrUnavailable)
	})
}

// TestCauseOfCancellation: a cause of the caller's own is reported too.
func TestCauseOfCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("the user pressed stop")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(why)
		_, err := newManager(t, newFakeStore(), nil).Acquire(ctx, "a")
		wantErr(t, "Acquire", err, ErrTimeout, context.Canceled, why)
	})
}
