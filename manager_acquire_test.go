package leasehold

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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

var testClaims = []Claim{{Namespace: "repo", Pattern: "src/auth/**"}, {Pattern: "go.mod", Mode: Shared}}

// TestClaims: one handle for all of them, under the name that the store gave it, which
// renewal, loss and release use.
func TestClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSets()
		s.notes = []Note{{From: "ben", Text: "the tests are red"}}
		m := newManager(t, s, &Options{TTL: time.Minute})
		own := slices.Clone(testClaims)
		h := mustTry(t, m, "", AcquireOptions{Claims: own})
		own[0].Pattern = "changed by the caller"
		if h.Resource() != SetPrefix+"1" || h.Token() != 1 {
			t.Errorf("%v, want the name and the token of the grant", h)
		}
		if diff := cmp.Diff(testClaims, h.Claims()); diff != "" {
			t.Errorf("Claims() -want +got:\n%s", diff)
		}
		if diff := cmp.Diff(s.notes, h.Notes()); diff != "" {
			t.Errorf("Notes() -want +got:\n%s", diff)
		}
		time.Sleep(10 * time.Minute)
		wantHeld(t, h)
		if len(s.renewed[h.Resource()]) < 10 {
			t.Errorf("renewed at %v, want about 15 times in 10 minutes", s.renewed[h.Resource()])
		}
		if err := h.Release(t.Context()); err != nil || s.state(h.Resource()).State != StateReleased {
			t.Errorf("Release = %v, and the row is %v, want released", err, s.state(h.Resource()).State)
		}
		second := mustTry(t, m, "", AcquireOptions{Claims: testClaims})
		s.breakLease(second.Resource(), 0)
		time.Sleep(time.Minute)
		wantLost(t, second, ReasonBroken)
	})
}

// TestClaimsInEveryCall: Acquire waits for them, Do and Lead run under them.
func TestClaimsInEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSets()
		m := newManager(t, s, nil)
		o := AcquireOptions{Claims: testClaims}
		first := mustTry(t, m, "", o)
		time.AfterFunc(time.Minute, func() { first.Release(context.Background()) })
		h, err := m.Acquire(t.Context(), "", o)
		if err != nil {
			t.Fatalf("Acquire = %v", err)
		}
		if h.Resource() == first.Resource() {
			t.Errorf("Acquire = %v, want another lease than the first", h)
		}
		h.Release(t.Context())
		seen := ""
		see := func(_ context.Context, h *Held) error { seen = h.Resource(); return io.EOF }
		if err := m.Do(t.Context(), "", see, o); !errors.Is(err, io.EOF) || seen != SetPrefix+"3" {
			t.Errorf("Do = %v under %q, want the function's error under the third set", err, seen)
		}
		if err := m.Lead(t.Context(), "", see, o); !errors.Is(err, io.EOF) || seen != SetPrefix+"4" {
			t.Errorf("Lead = %v under %q, want the function's error under the fourth set", err, seen)
		}
	})
}

// TestClaimsOrName: a call has one of them, and bad claims are refused before anything
// is sent.
func TestClaimsOrName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSets()
		m := newManager(t, s, nil)
		for name, o := range map[string]AcquireOptions{
			"resource": {Claims: testClaims},
			"":         {},
		} {
			_, err := m.TryAcquire(t.Context(), name, o)
			wantErr(t, "TryAcquire with both or none", err, ErrInvalid)
		}
		_, err := m.Acquire(t.Context(), "", AcquireOptions{Claims: Paths("repo", "src//auth")})
		wantErr(t, "Acquire of a bad pattern", err, ErrInvalid)
		if n := s.count("acquire"); n != 0 {
			t.Errorf("%d requests were sent, want none", n)
		}
	})
}

// TestClaimsUnsupported: the store's first answers end the call, with no time passed
// and no lease changed.
func TestClaimsUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plainStore{&fakeQueue{fakeStore: newFakeStore()}}
		m := newManager(t, s, nil)
		o := AcquireOptions{Claims: testClaims}
		began := time.Now()
		_, err := m.TryAcquire(t.Context(), "", o)
		wantErr(t, "TryAcquire", err, ErrUnsupported)
		_, err = m.Acquire(t.Context(), "", o)
		wantErr(t, "Acquire", err, ErrUnsupported)
		fn := func(context.Context, *Held) error { t.Error("the function runs without a lease"); return nil }
		wantErr(t, "Do", m.Do(t.Context(), "", fn, o), ErrUnsupported)
		wantErr(t, "Lead", m.Lead(t.Context(), "", fn, o), ErrUnsupported)
		synctest.Wait()
		if since := time.Since(began); since != 0 || s.count("acquire")+s.count("wait")+s.count("release") != 0 {
			t.Errorf("%v passed, and %v was requested, want nothing", since, s.calls)
		}
		if s.count("any acquire") > 4 || s.count("any wait") > 3 {
			t.Errorf("%v, want no repeated requests", s.calls)
		}
	})
}

// TestNoOrphanSet: a set that nobody received is released, by its id where no answer
// came that has its name.
func TestNoOrphanSet(t *testing.T) {
	t.Run("answers lost", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSets()
			s.after = func(_ context.Context, op, _ string) error {
				if op == "acquire" {
					return lostAnswer(context.Background())
				}
				return nil
			}
			m := newManager(t, s, nil)
			_, err := m.TryAcquire(t.Context(), "", AcquireOptions{Claims: testClaims})
			wantErr(t, "TryAcquire with every answer lost", err, ErrUnknown)
			synctest.Wait()
			if got := s.state(SetPrefix + "1").State; got != StateReleased {
				t.Errorf("the set is %v, want released", got)
			}
		})
	})
	t.Run("proposed id", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeSets()
			ctx, cancel := context.WithCancel(t.Context())
			s.after = func(_ context.Context, op, _ string) error {
				if op == "acquire" {
					cancel()
				}
				return nil
			}
			m := newManager(t, s, nil)
			_, err := m.TryAcquire(ctx, "", AcquireOptions{Claims: testClaims, ID: NewID()})
			wantErr(t, "TryAcquire of a caller that left", err, ErrTimeout)
			if got := s.state(SetPrefix + "1").State; got != StateReleased {
				t.Errorf("the set is %v, want released", got)
			}
		})
	})
}
