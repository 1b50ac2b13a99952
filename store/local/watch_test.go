package local

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/feeds"
)

// watch collects a watcher's notices until its context ends.
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

func TestWatchFilters(t *testing.T) {
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

func TestReplayIsBounded(t *testing.T) {
	p := newPublisher(0)
	for seq := uint64(1); seq <= 3*replaySize; seq++ {
		p.add([]leasehold.Record{{Seq: seq}})
	}
	if _, missed := p.subscribe(leasehold.WatchRequest{After: 1}); len(missed) != 1 || !missed[0].Reset {
		t.Errorf("a watcher from long ago missed %d, want a reset", len(missed))
	}
	if _, missed := p.subscribe(leasehold.WatchRequest{After: 3*replaySize - 100}); len(missed) != 100 {
		t.Errorf("a watcher from just now missed %d, want 100", len(missed))
	}
}

// A watcher that falls behind gets a reset, and what comes after it.
func TestSlowWatcherIsReset(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		stuck := make(chan struct{})
		var notices []leasehold.Notice
		go e.Watch(t.Context(), leasehold.WatchRequest{}, func(n leasehold.Notice) error {
			<-stuck
			notices = append(notices, n)
			return nil
		})
		synctest.Wait()
		g := acquire(t, e, "r", "a", time.Hour)
		synctest.Wait() // until the watcher is stuck with that
		renew := func() {
			t.Helper()
			if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
				t.Fatalf("Renew beside a stuck watcher = %v", err)
			}
			synctest.Wait()
		}
		for range feeds.MaxUnread + 2 {
			renew()
		}
		close(stuck)
		synctest.Wait()
		release(t, e, g)
		synctest.Wait()
		want := fmt.Sprintf("1:acquired:r reset@%d %d:released:r ", feeds.MaxUnread+3, feeds.MaxUnread+4)
		if got := names(notices); got != want {
			t.Errorf("the stuck watcher was told %q, want %q", got, want)
		}
	})
}

// unread returns what the watcher has not read, and reads it.
func unread(w *feeds.Watcher) (notices []*leasehold.SharedNotice) {
	over := make(chan struct{})
	close(over)
	w.Run(context.Background(), "", over, nil, func(more []*leasehold.SharedNotice) error {
		notices = append(notices, more...)
		return nil
	})
	return notices
}

// A publisher that falls behind resets its watchers, and the inbox stays small.
func TestSlowPublisherResets(t *testing.T) {
	p := newPublisher(0)
	w, _ := p.subscribe(leasehold.WatchRequest{Prefix: "r"})
	for seq := range uint64(replaySize + 2) {
		p.add([]leasehold.Record{{Seq: seq + 1, Resource: "r"}})
	}
	if n := len(p.inbox); n > replaySize {
		t.Errorf("the inbox has %d notices, want at most %d", n, replaySize)
	}
	p.publish()
	got := unread(w)
	p.add([]leasehold.Record{{Seq: replaySize + 3, Resource: "r"}})
	p.publish()
	got = append(got, unread(w)...)
	if len(got) != 2 || !got[0].Reset || got[0].Seq != replaySize+2 || got[1].Seq != replaySize+3 {
		t.Errorf("the watcher reads %d notices, want a reset to %d and record %d", len(got), replaySize+2, replaySize+3)
	}
}

// No answer waits for the watchers: it comes while the publisher is stuck.
func TestAnswersDoNotWaitForThePublisher(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		told, _ := watch(t.Context(), e, leasehold.WatchRequest{})
		e.publisher.feedsMu.Lock()
		release(t, e, acquire(t, e, "r", "a", time.Hour))
		e.publisher.feedsMu.Unlock()
		if got := names(told()); got != "1:acquired:r 2:released:r " {
			t.Errorf("told %q", got)
		}
	})
}

// A new watcher does not get what was durable before it, published or not.
func TestNewWatcherGetsOnlyNewRecords(t *testing.T) {
	p := newPublisher(0)
	before, _ := p.subscribe(leasehold.WatchRequest{})
	p.add([]leasehold.Record{{Seq: 1}, {Seq: 2}}) // and the publisher has not come round to it
	after, missed := p.subscribe(leasehold.WatchRequest{})
	if len(missed) > 0 {
		t.Errorf("a new watcher missed %d records, want none", len(missed))
	}
	resumed, missed := p.subscribe(leasehold.WatchRequest{After: 1})
	if len(missed) != 1 || missed[0].Seq != 2 {
		t.Errorf("a watcher that resumes missed %d records, want the second", len(missed))
	}
	p.add([]leasehold.Record{{Seq: 3}})
	p.publish()
	for _, w := range []struct {
		who  string
		have []*leasehold.SharedNotice
		want int
	}{{"earlier", unread(before), 3}, {"new", unread(after), 1}, {"resumed", unread(resumed), 1}} {
		if n := len(w.have); n != w.want || w.have[n-1].Seq != 3 {
			t.Errorf("the %s watcher was told %d notices, want %d up to the third", w.who, n, w.want)
		}
	}
}

// Close publishes what its last commit made durable, then ends the watches.
func TestClosePublishes(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		told, ended := watch(t.Context(), e, leasehold.WatchRequest{})
		d.set(func(d *disk) { d.slowness = time.Second })
		go e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: time.Hour})
		synctest.Wait() // it is being committed
		go e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "a", TTL: time.Hour})
		synctest.Wait() // it waits for the next commit
		e.Close()
		wantReason(t, "Watch of a closed store", <-ended, leasehold.ReasonUnavailable)
		if got := names(told()); got != "1:acquired:r 2:acquired:s " {
			t.Errorf("told %q, want both grants", got)
		}
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

// Watchers also get what the history does not keep.
func TestWatchersGetRecordsThatAreNotKept(t *testing.T) {
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

// A caller with an answer finds its record with a watch: it is published before
// the answer, by a commit that went well and by one that only seemed to fail.
func TestNoticesComeBeforeTheirAnswers(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.set(func(d *disk) {
			d.failCommit = func(n int) fault {
				if n%7 == 0 {
					return unanswered
				}
				return fine
			}
		})
		for i := range uint64(300) {
			acquire(t, e, fmt.Sprint("r", i), "a", time.Hour)
			e.publisher.mu.Lock()
			last := e.publisher.last
			e.publisher.mu.Unlock()
			if last < i+1 {
				t.Fatalf("record %d is answered, but only %d are published", i+1, last)
			}
		}
	})
}
