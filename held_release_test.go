package leasehold

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		var log recorder
		m := newManager(t, s, &Options{Observe: log.observe})
		h := mustTry(t, m, "a")
		ctx := h.Context()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if err := h.Release(ended()); err != nil { // cancelled callers release too
					t.Errorf("Release = %v", err)
				}
			})
		}
		all.Wait()
		if s.state("a").State != StateReleased || s.count("release") != 1 {
			t.Errorf("%v after %d requests, want released after one", s.state("a").State, s.count("release"))
		}
		if ctx.Err() == nil {
			t.Error("the context lives on")
		}
		wantLost(t, h, ReasonReleased)
		wantErr(t, "Renew after Release", h.Renew(t.Context()), ErrLost)
		if diff := cmp.Diff([]string{"Released"}, log.kinds()); diff != "" {
			t.Errorf("events -want +got:\n%s", diff)
		}
		mustTry(t, m, "a")
	})
}

// TestReleaseEndsTheContextFirst: the work must not believe that it holds a lease
// which is being released.
func TestReleaseEndsTheContextFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		h := mustTry(t, newManager(t, s, nil), "a")
		ctx := h.Context()
		s.hook(func(_ context.Context, op, _ string) error {
			if op == "release" && ctx.Err() == nil {
				t.Error("the release was sent while the context was alive")
			}
			return nil
		}, nil)
		h.Release(t.Context())
	})
}

// TestReleaseAfterLostAnswer: that the lease is released already is good news.
func TestReleaseAfterLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		s.after = onNth("release", 1, lostAnswer)
		h := mustTry(t, newManager(t, s, nil), "a")
		if err := h.Release(t.Context()); err != nil || s.count("release") != 2 {
			t.Errorf("Release = %v after %d requests, want nil after 2", err, s.count("release"))
		}
	})
}

func TestReleaseReportsWhatHappened(t *testing.T) {
	down := func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }
	for _, c := range []struct {
		name   string
		change func(*fakeStore)
		target error
		state  State
		events []string
		took   time.Duration
	}{
		{"broken meanwhile", func(s *fakeStore) { s.breakLease("a", 0) }, ErrLost, StateBroken, []string{"Lost"}, 0},
		{"released by force", func(s *fakeStore) { s.rows["a"].State = StateReleased }, ErrLost, StateReleased, []string{"Lost"}, 0},
		{"forgotten", func(s *fakeStore) { delete(s.rows, "a") }, ErrLost, StateAvailable, []string{"Lost"}, 0},
		{"being broken", func(s *fakeStore) { s.breakLease("a", time.Minute) }, nil, StateReleased, []string{"Released"}, 0},
		{"store down", func(s *fakeStore) { s.hook(down, nil) }, ErrUnavailable, StateActive, []string{"Released"}, releaseTimeout},
		{"past the line", func(s *fakeStore) {
			s.hook(failRenewals(&Error{Reason: ReasonUnavailable}), nil)
			time.Sleep(55 * time.Second)
		}, ErrLost, StateReleased, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				var log recorder
				h := mustTry(t, newManager(t, s, &Options{Observe: log.observe}), "a")
				c.change(s)
				start := time.Now()
				err := h.Release(t.Context())
				took := time.Since(start)
				if !errors.Is(err, c.target) {
					t.Errorf("Release = %v, want %v", err, c.target)
				}
				if again := h.Release(t.Context()); again != err {
					t.Errorf("Release again = %v, want %v", again, err)
				}
				if took != c.took || s.state("a").State != c.state {
					t.Errorf("%v after %v, want %v after %v", s.state("a").State, took, c.state, c.took)
				}
				if diff := cmp.Diff(c.events, log.kinds()); diff != "" && c.events != nil {
					t.Errorf("events -want +got:\n%s", diff)
				}
				if c.target == ErrUnavailable {
					wantErr(t, "Released.Err", log.all()[0].(Released).Err, ErrUnavailable)
				}
			})
		})
	}
}

// TestReleaseNeverEndsANewerLease: the id is compared, not only the name.
func TestReleaseNeverEndsANewerLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		old := mustTry(t, newManager(t, s, nil), "a")
		s.breakLease("a", 0)
		newer := mustTry(t, newManager(t, s, nil), "a")
		wantErr(t, "Release of the old lease", old.Release(t.Context()), ErrLost)
		wantHeld(t, newer)
		if got := s.state("a"); got.State != StateActive || got.Token != newer.Token() {
			t.Errorf("the row is %v with token %d, want the newer lease", got.State, got.Token)
		}
	})
}

// TestReleaseDuringARenewal: what the renewal in flight says no longer matters.
func TestReleaseDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		h := mustTry(t, newManager(t, s, nil), "a")
		s.hook(func(ctx context.Context, op, _ string) error {
			if op == "renew" {
				<-ctx.Done()
			}
			return nil
		}, nil)
		time.Sleep(41 * time.Second)
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release = %v", err)
		}
		synctest.Wait()
		wantLost(t, h, ReasonReleased)
	})
}

func TestReleaseWithNote(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeSets()
		m := newManager(t, s, nil)
		h := mustTry(t, m, "", AcquireOptions{Claims: testClaims})
		err := h.ReleaseWithNote(t.Context(), string(make([]byte, MaxNote+1)))
		wantErr(t, "ReleaseWithNote of a long note", err, ErrInvalid)
		wantHeld(t, h)
		if err := h.ReleaseWithNote(ended(), "half done\nsee TODO"); err != nil {
			t.Errorf("ReleaseWithNote = %v", err)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Errorf("Release after it = %v, want its result", err)
		}
		next := mustTry(t, m, "", AcquireOptions{Claims: testClaims})
		if diff := cmp.Diff([]Note{{From: m.Holder(), Text: "half done\nsee TODO"}}, next.Notes()); diff != "" {
			t.Errorf("Notes() of the next holder -want +got:\n%s", diff)
		}
	})
}

// TestReleaseWithNoteUnsupported: the lease must not stay held for the sake of a note.
func TestReleaseWithNoteUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := plainStore{&fakeQueue{fakeStore: newFakeStore()}}
		var log recorder
		h := mustTry(t, newManager(t, s, &Options{Observe: log.observe}), "a")
		began := time.Now()
		wantErr(t, "ReleaseWithNote", h.ReleaseWithNote(t.Context(), "for the next"), ErrUnsupported)
		if s.state("a").State != StateReleased || time.Since(began) != 0 {
			t.Errorf("the row is %v after %v, want released at once", s.state("a").State, time.Since(began))
		}
		synctest.Wait()
		for _, e := range log.all() {
			if r, ok := e.(Released); ok && r.Err != nil {
				t.Errorf("the event says %v, want a release without an error", r.Err)
			}
		}
	})
}
