package historywatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/feeds"
)

func TestWatchIsWoken(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.write("old", "a")
		all := watch(t, w, leasehold.WatchRequest{})
		some := watch(t, w, leasehold.WatchRequest{Prefix: "prod:"})
		mine := watch(t, w, leasehold.WatchRequest{Holder: "b"})
		h.write("prod:x", "a")
		h.write("test:x", "b")
		all.expect("")
		w.Wake()
		all.expect("2 3 ")
		some.expect("2 ")
		mine.expect("3 ")
	})
}

// A record of another process comes with the next look, which is never far.
func TestWatchLooks(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		x := watch(t, w, leasehold.WatchRequest{})
		for seq := range 20 {
			time.Sleep(time.Duration(seq) * time.Second)
			h.write("r", "a")
			time.Sleep(72 * time.Second) // a minute and a fifth
			x.expect(fmt.Sprint(seq+1, " "))
		}
		if n := h.count(); n < 20 || n > 40 {
			t.Errorf("%d reads in half an hour, want about one a minute", n)
		}
	})
	if w := New(Options{}); w.o.Look != defaultLook {
		t.Errorf("Look = %v, want the default", w.o.Look)
	}
}

// While nobody watches nothing is read.
func TestNobodyWatches(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.write("r", "a")
		w.Wake()
		w.Refused(leasehold.Record{Resource: "r"})
		time.Sleep(time.Hour)
		if n := h.count(); n != 0 {
			t.Errorf("%d reads before anybody watched", n)
		}
		x := watch(t, w, leasehold.WatchRequest{})
		x.expect("")
		x.cancel()
		if err := <-x.ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Watch = %v, want the context's end", err)
		}
		synctest.Wait()
		read := h.count()
		h.write("r", "a")
		w.Wake()
		time.Sleep(time.Hour)
		if n := h.count(); n != read || w.reader != nil || len(w.refusals) != 0 {
			t.Errorf("%d more reads after the last watcher left", n-read)
		}
		again := watch(t, w, leasehold.WatchRequest{After: 1})
		again.expect("2 ")
	})
}

func TestWatchResumes(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		for range 2*pageSize + 10 {
			h.write("r", "a")
		}
		first := watch(t, w, leasehold.WatchRequest{}) // its reader stands at the end
		for _, c := range []struct {
			after uint64
			want  string
		}{
			{2*pageSize + 10, ""}, {2*pageSize + 8, "2009 2010 "}, {9999, "reset@2010 "},
		} {
			watch(t, w, leasehold.WatchRequest{After: c.after}).expect(c.want)
		}
		x := watch(t, w, leasehold.WatchRequest{After: 1})
		x.expectMany(2*pageSize + 9)
		watch(t, w, leasehold.WatchRequest{After: 1, Prefix: "none"}).expect("")
		first.expect("")
	})
}

// The feed of a new watcher lags behind the history, or is ahead of what the
// watcher knows: it gets each record that it wants once.
func TestJoinsBetween(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.write("r", "a")
		first := watch(t, w, leasehold.WatchRequest{})
		for range 4 {
			h.write("r", "a") // and the reader has not come round to it
		}
		fresh := watch(t, w, leasehold.WatchRequest{})
		resumed := watch(t, w, leasehold.WatchRequest{After: 3})
		older := watch(t, w, leasehold.WatchRequest{After: 1})
		beyond := watch(t, w, leasehold.WatchRequest{After: 8})
		beyond.expect("reset@5 ")
		w.Wake()
		first.expect("2 3 4 5 ")
		fresh.expect("")
		resumed.expect("4 5 ")
		older.expect("2 3 4 5 ")
		w.Refused(leasehold.Record{Resource: "r"})
		h.write("r", "a")
		w.Wake()
		for _, x := range []*watching{first, fresh, resumed, older, beyond} {
			time.Sleep(time.Second)
			x.expect("6 0refused ")
		}
		h.write("r", "a")
		w.Wake()
		fresh.expect("7 ")
	})
}

// Records that come while a watcher catches up reach it once, in order.
func TestCatchesUpBesideNews(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		for range 5 {
			h.write("r", "a")
		}
		first := watch(t, w, leasehold.WatchRequest{})
		h.set(func() { h.takes = time.Second })
		x := watch(t, w, leasehold.WatchRequest{After: 2}) // reads
		h.write("r", "a")
		h.write("r", "a")
		time.Sleep(time.Second)
		x.expect("3 4 5 ")
		w.Wake()
		time.Sleep(2 * time.Second)
		x.expect("6 7 ")
		first.expect("6 7 ")
	})
}

func TestPurgedBeforeTheWatch(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		for range 9 {
			h.write("r", "a")
		}
		first := watch(t, w, leasehold.WatchRequest{})
		h.purge(4)
		watch(t, w, leasehold.WatchRequest{After: 3}).expect("reset@9 ")
		watch(t, w, leasehold.WatchRequest{After: 4}).expect("5 6 7 8 9 ")
		h.purge(9)
		watch(t, w, leasehold.WatchRequest{After: 4}).expect("reset@9 ")
		watch(t, w, leasehold.WatchRequest{After: 9}).expect("")
		first.expect("")
	})
}

// What is purged before the reader saw it resets every watcher.
func TestPurgedBeforeTheReader(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		x := watch(t, w, leasehold.WatchRequest{Prefix: "other"})
		for range 5 {
			h.write("r", "a")
		}
		h.purge(3)
		w.Wake()
		x.expect("reset@5 ")
		h.write("r", "a")
		h.purge(6)
		time.Sleep(72 * time.Second)
		x.expect("reset@6 ")
		h.write("other", "a")
		w.Wake()
		x.expect("7 ")
	})
}

// Numbers that were used up without a record, by what the settings want no history of
// or by a transaction that failed, are nothing that a watcher has missed.
func TestNumbersWithoutRecords(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.write("r", "a")
		x := watch(t, w, leasehold.WatchRequest{})
		for range 3 {
			h.set(func() { h.last++ })
			time.Sleep(72 * time.Second)
			x.expect("")
		}
		h.write("r", "a")
		w.Wake()
		x.expect("5 ")
	})
}

// A database that was replaced by an older copy resets every watcher.
func TestHistoryGoesBack(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		for range 5 {
			h.write("r", "a")
		}
		x := watch(t, w, leasehold.WatchRequest{})
		h.set(func() { h.records, h.last = h.records[:2], 2 })
		time.Sleep(72 * time.Second)
		x.expect("reset@2 ")
		h.write("r", "a")
		w.Wake()
		x.expect("3 ")
	})
}

// A watcher whose feed lagged when the history was replaced gets what is written
// then, though its numbers are old ones.
func TestHistoryGoesBackBehindAFeed(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		watch(t, w, leasehold.WatchRequest{})
		for range 5 {
			h.write("r", "a")
		}
		x := watch(t, w, leasehold.WatchRequest{}) // starts after the fifth, its feed before the first
		h.purge(5)
		h.set(func() { h.last = 2 })
		time.Sleep(72 * time.Second)
		x.expect("reset@2 ")
		h.write("r", "a")
		w.Wake()
		x.expect("3 ")
	})
}

// A history that cannot be read for a while delays the notices.
func TestOutage(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.write("r", "a")
		x := watch(t, w, leasehold.WatchRequest{})
		down := errors.New("the service is down")
		h.set(func() { h.err = down })
		h.write("r", "a")
		w.Refused(leasehold.Record{Resource: "r"})
		time.Sleep(10 * time.Minute)
		x.expect("0refused ")
		err := w.Watch(t.Context(), leasehold.WatchRequest{}, nil)
		if !errors.Is(err, leasehold.ErrUnavailable) || !errors.Is(err, down) {
			t.Errorf("Watch of a service that is down = %v", err)
		}
		h.set(func() { h.err = nil })
		time.Sleep(72 * time.Second)
		x.expect("2 ")
	})
}

// An error while a watcher catches up ends its watch.
func TestOutageWhileCatchingUp(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		for range 5 {
			h.write("r", "a")
		}
		first := watch(t, w, leasehold.WatchRequest{})
		h.set(func() { h.takes = time.Second })
		x := watch(t, w, leasehold.WatchRequest{After: 1})
		mine := &leasehold.Error{Reason: leasehold.ReasonUnavailable, Problem: "mine"}
		h.set(func() { h.err = mine })
		if err := <-x.ended; !errors.Is(err, leasehold.ErrUnavailable) || !strings.Contains(err.Error(), "watch") {
			t.Errorf("Watch = %v", err)
		}
		first.expect("")
	})
}

// A busy history is read in larger pages, not more often.
func TestBusyHistory(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.set(func() { h.takes = 5 * time.Millisecond })
		x := watch(t, w, leasehold.WatchRequest{})
		for range 1000 {
			h.write("r", "a")
			w.Wake()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		x.expectMany(1000)
		if n := h.count(); n < 30 || n > 60 {
			t.Errorf("%d reads in a second, want one in 25 ms", n)
		}
	})
}

// More than a page at once is read at once.
func TestManyAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		x := watch(t, w, leasehold.WatchRequest{})
		for range 3*pageSize + 1 {
			h.write("r", "a")
		}
		w.Wake()
		x.expectMany(3*pageSize + 1)
	})
}

func TestRefusalsAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.takes = time.Second
		x := watch(t, w, leasehold.WatchRequest{})
		w.Wake()
		synctest.Wait() // until the reader reads
		for range 2 * maxRefusals {
			w.Refused(leasehold.Record{Resource: "r", Seq: 7})
		}
		w.mu.Lock()
		if n := len(w.refusals); n != maxRefusals {
			t.Errorf("%d refusals wait, want at most %d", n, maxRefusals)
		}
		w.mu.Unlock()
		time.Sleep(time.Second)
		x.expect(strings.Repeat("0refused ", maxRefusals))
	})
}

func TestClose(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.takes = time.Second
		x := watch(t, w, leasehold.WatchRequest{})
		h.write("r", "a")
		w.Wake()
		synctest.Wait() // until the reader reads
		w.Close()
		w.Close()
		if err := <-x.ended; !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Watch of a closed store = %v", err)
		}
		if err := w.Watch(t.Context(), leasehold.WatchRequest{}, nil); !errors.Is(err, leasehold.ErrUnavailable) || !errors.Is(err, errClosed) {
			t.Errorf("Watch after Close = %v", err)
		}
		w.Wake()
		w.Refused(leasehold.Record{})
	})
}

func TestWatchEnds(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		for range 3 {
			h.write("r", "a")
		}
		mine := errors.New("enough")
		refuse := func(leasehold.Notice) error { return mine }
		first := watch(t, w, leasehold.WatchRequest{})
		for _, after := range []uint64{1, 99} { // what was missed, and a reset
			if err := w.Watch(t.Context(), leasehold.WatchRequest{After: after}, refuse); err != mine {
				t.Errorf("Watch after %d whose function refused = %v", after, err)
			}
		}
		go func() {
			time.Sleep(time.Second)
			h.write("r", "a")
			w.Wake()
		}()
		if err := w.Watch(t.Context(), leasehold.WatchRequest{}, refuse); err != mine {
			t.Errorf("Watch whose function refused = %v", err)
		}
		err := w.Watch(t.Context(), leasehold.WatchRequest{Holder: "\x00"}, nil)
		var x *leasehold.Error
		if !errors.As(err, &x) || x.Reason != leasehold.ReasonInvalid || x.Op != "watch" || x.Store != "test" {
			t.Errorf("Watch of an impossible holder = %v", err)
		}
		first.expect("4 ")
	})
}

// A reader that is stopped in the middle of a read publishes nothing to those
// who come after it.
func TestStoppedReader(t *testing.T) {
	bubble(t, func(t *testing.T, h *history, w *Watches) {
		h.takes = time.Second
		x := watch(t, w, leasehold.WatchRequest{})
		h.write("r", "a")
		w.Wake()
		synctest.Wait()
		old := w.reader
		x.cancel()
		<-x.ended
		y := watch(t, w, leasehold.WatchRequest{})
		if old == w.reader || old.publish(feeds.News{Last: 1}) {
			t.Error("the stopped reader still publishes")
		}
		time.Sleep(time.Hour)
		y.expect("")
		h.write("r", "a")
		w.Wake()
		time.Sleep(time.Minute)
		y.expect("2 ")
	})
}
