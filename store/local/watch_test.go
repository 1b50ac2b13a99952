package local

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// watch collects what a watcher is told until its context ends.
func watch(ctx context.Context, e *Engine, r leasehold.WatchRequest) (told func() []leasehold.Notice, ended <-chan error) {
	var notices []leasehold.Notice
	c := make(chan error, 1)
	go func() {
		c <- e.Watch(ctx, r, func(n leasehold.Notice) error {
			notices = append(notices, n)
			return nil
		})
	}()
	synctest.Wait()
	return func() []leasehold.Notice { synctest.Wait(); return notices }, c
}

func names(notices []leasehold.Notice) (s string) {
	for _, n := range notices {
		if n.Reset {
			s += fmt.Sprintf("reset@%d ", n.Seq)
		} else {
			s += fmt.Sprintf("%d:%s:%s ", n.Seq, n.Kind, n.Resource)
		}
	}
	return s
}

func TestWatchTellsWhatMatches(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		ctx, cancel := context.WithCancel(t.Context())
		all, ended := watch(ctx, e, leasehold.WatchRequest{})
		some, _ := watch(ctx, e, leasehold.WatchRequest{Prefix: "prod:"})
		mine, _ := watch(ctx, e, leasehold.WatchRequest{Holder: "b"})
		g := acquire(t, e, "prod:x", "a", time.Hour)
		acquire(t, e, "test:y", "b", time.Hour)
		e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "prod:x", Holder: "b"})
		release(t, e, g)

		for _, w := range []struct {
			what string
			told func() []leasehold.Notice
			want string
		}{
			{"everything", all, "1:acquired:prod:x 2:acquired:test:y 0:refused:prod:x 3:released:prod:x "},
			{"a prefix", some, "1:acquired:prod:x 0:refused:prod:x 3:released:prod:x "},
			{"a holder", mine, "2:acquired:test:y "},
		} {
			if got := names(w.told()); got != w.want {
				t.Errorf("a watcher of %s was told %q, want %q", w.what, got, w.want)
			}
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch = %v, want the context's end", err)
		}
	})
}

func TestWatchResumes(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for i := range 5 {
			acquire(t, e, fmt.Sprint("r", i), "a", time.Hour)
		}
		for _, w := range []struct {
			after uint64
			want  string
		}{
			{0, ""}, {5, ""}, {3, "4:acquired:r3 5:acquired:r4 "}, {99, "reset@5 "},
		} {
			told, _ := watch(t.Context(), e, leasehold.WatchRequest{After: w.after})
			if got := names(told()); got != w.want {
				t.Errorf("Watch after %d told %q, want %q", w.after, got, w.want)
			}
		}
		e.Close()
		e = open(t, d)
		told, _ := watch(t.Context(), e, leasehold.WatchRequest{After: 3})
		if got := names(told()); got != "reset@5 " {
			t.Errorf("Watch after a restart told %q, want a reset", got)
		}
		acquire(t, e, "r9", "a", time.Hour)
		told, _ = watch(t.Context(), e, leasehold.WatchRequest{After: 5})
		if got := names(told()); got != "6:acquired:r9 " {
			t.Errorf("Watch across a restart told %q, want the sixth", got)
		}
	})
}

func TestWatchForgetsTheOldest(t *testing.T) {
	var h hub
	for seq := uint64(1); seq <= 3*replayed; seq++ {
		h.publish([]leasehold.Record{{Seq: seq}})
	}
	if _, missed := h.join(leasehold.WatchRequest{After: 1}); len(missed) != 1 || !missed[0].Reset {
		t.Errorf("a watcher from long ago missed %d, want a reset", len(missed))
	}
	if _, missed := h.join(leasehold.WatchRequest{After: 3*replayed - 100}); len(missed) != 100 {
		t.Errorf("a watcher from just now missed %d, want 100", len(missed))
	}
}

func TestSlowWatcherIsCutOff(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		stuck := make(chan struct{})
		ended := make(chan error, 1)
		go func() {
			ended <- e.Watch(t.Context(), leasehold.WatchRequest{}, func(leasehold.Notice) error {
				<-stuck
				return nil
			})
		}()
		synctest.Wait()
		g := acquire(t, e, "r", "a", time.Hour)
		for range behind + 10 {
			if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
				t.Fatalf("Renew beside a stuck watcher = %v", err)
			}
		}
		close(stuck)
		wantReason(t, "the stuck Watch", <-ended, leasehold.ReasonUnavailable)
	})
}

func TestWatchEnds(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		mine := errors.New("enough")
		acquire(t, e, "r", "a", time.Hour)
		acquire(t, e, "s", "a", time.Hour)
		refuse := func(leasehold.Notice) error { return mine }
		if err := e.Watch(t.Context(), leasehold.WatchRequest{After: 1}, refuse); err != mine {
			t.Errorf("Watch whose function refused the past = %v", err)
		}
		go func() {
			time.Sleep(time.Second) // until the watcher is there
			e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "t", Holder: "a", TTL: time.Hour})
		}()
		if err := e.Watch(t.Context(), leasehold.WatchRequest{}, refuse); err != mine {
			t.Errorf("Watch whose function refused = %v", err)
		}
		wantReason(t, "Watch", e.Watch(t.Context(), leasehold.WatchRequest{Holder: "\x00"}, nil), leasehold.ReasonInvalid)
		_, ended := watch(t.Context(), e, leasehold.WatchRequest{})
		e.Close()
		wantReason(t, "Watch of a closed store", <-ended, leasehold.ReasonUnavailable)
	})
}

// What the history does not keep, watchers hear all the same.
func TestWatchersHearWhatIsNotKept(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		if _, err := e.SetSetting(t.Context(), leasehold.SettingKeepHistory, false); err != nil {
			t.Fatal(err)
		}
		told, _ := watch(t.Context(), e, leasehold.WatchRequest{})
		acquire(t, e, "r", "a", time.Hour)
		if got := names(told()); got != "2:acquired:r " {
			t.Errorf("told %q", got)
		}
	})
}

// Whoever has an answer finds its record with a watch: it is published before
// the answer is let go, by a commit that went well and by one that only seemed
// to fail.
func TestNoticesComeBeforeTheirAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.set(func(d *disk) {
			d.failCommit = func(n int) fault {
				if n%7 == 0 {
					return unheard
				}
				return fine
			}
		})
		for i := range uint64(300) {
			acquire(t, e, fmt.Sprint("r", i), "a", time.Hour)
			e.hub.mu.Lock()
			last := e.hub.last
			e.hub.mu.Unlock()
			if last < i+1 {
				t.Fatalf("record %d is answered, but only %d are published", i+1, last)
			}
		}
	})
}
