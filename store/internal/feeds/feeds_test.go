package feeds

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/leasehold/leasehold"
)

func record(seq uint64, resource, holder string) *leasehold.SharedNotice {
	return &leasehold.SharedNotice{Notice: leasehold.Notice{Record: leasehold.Record{Seq: seq, Resource: resource, Holder: holder}}}
}

func news(seq uint64) News {
	return News{Notices: []*leasehold.SharedNotice{record(seq, "r", "h")}, Last: seq}
}

func text(notices []*leasehold.SharedNotice) (s string) {
	for _, n := range notices {
		if n.Reset {
			s += "reset@"
		}
		s += fmt.Sprint(n.Seq, " ")
	}
	return s
}

func unread(w *Watcher) []*leasehold.SharedNotice {
	notices, _ := w.read()
	return notices
}

func wantUnread(t *testing.T, what string, w *Watcher, want string) {
	t.Helper()
	if got := text(unread(w)); got != want {
		t.Errorf("%s reads %q, want %q", what, got, want)
	}
}

func TestFilters(t *testing.T) {
	var s Set
	s.Add(news(1)) // nobody watches
	all := s.Subscribe(leasehold.WatchRequest{})
	prefix := s.Subscribe(leasehold.WatchRequest{Prefix: "prod:"})
	holder := s.Subscribe(leasehold.WatchRequest{Holder: "b"})
	both := s.Subscribe(leasehold.WatchRequest{Prefix: "prod:", Holder: "b"})
	notices := []*leasehold.SharedNotice{record(2, "prod:x", "a"), record(3, "test:x", "b"), record(4, "prod:y", "b"), record(5, "pro", "a")}
	s.Add(News{Notices: notices, Last: 5})
	wantUnread(t, "everything", all, "2 3 4 5 ")
	wantUnread(t, "a prefix", prefix, "2 4 ")
	wantUnread(t, "a holder", holder, "3 4 ")
	wantUnread(t, "both", both, "4 ")
	wantUnread(t, "both again", both, "")
	if got := text(prefix.Match(notices)); got != "2 4 " {
		t.Errorf("Match = %q", got)
	}
}

// Watchers with one filter share a feed, which goes with the last of them.
func TestFeedsAreShared(t *testing.T) {
	var s Set
	a := s.Subscribe(leasehold.WatchRequest{Prefix: "r"})
	s.Add(news(1))
	b := s.Subscribe(leasehold.WatchRequest{Prefix: "r", After: 9})
	s.Add(news(2))
	if len(s.feeds) != 1 {
		t.Errorf("%d feeds, want one", len(s.feeds))
	}
	wantUnread(t, "the first", a, "1 2 ")
	wantUnread(t, "the second", b, "2 ")
	s.Unsubscribe(a)
	s.Add(news(3))
	wantUnread(t, "the second", b, "3 ")
	if s.Unsubscribe(b); len(s.feeds) != 0 {
		t.Errorf("%d feeds are left, want none", len(s.feeds))
	}
}

// Records that are missing reset every watcher, whatever its filter.
func TestDropped(t *testing.T) {
	var s Set
	a := s.Subscribe(leasehold.WatchRequest{})
	b := s.Subscribe(leasehold.WatchRequest{Prefix: "other"})
	s.Add(news(1))
	s.Add(News{Dropped: true, Last: 7})
	wantUnread(t, "one", a, "reset@7 ")
	wantUnread(t, "another", b, "reset@7 ")
	s.Add(news(8))
	wantUnread(t, "one", a, "8 ")
	wantUnread(t, "another", b, "")
}

// A log is as long as a watcher may be behind, give or take as much again.
func TestLogStaysShort(t *testing.T) {
	var s Set
	w, slow := s.Subscribe(leasehold.WatchRequest{}), s.Subscribe(leasehold.WatchRequest{})
	for seq := range uint64(10 * MaxUnread) {
		s.Add(news(seq + 1))
		if n := len(w.feed.log); n > 2*MaxUnread {
			t.Fatalf("the log has %d notices, want at most %d", n, 2*MaxUnread)
		}
		if seq%MaxUnread == MaxUnread-1 {
			if got := unread(w); len(got) != MaxUnread || got[0].Seq != seq+2-MaxUnread || got[MaxUnread-1].Seq != seq+1 {
				t.Fatalf("a watcher reads %d notices up to record %d, want all %d", len(got), seq+1, MaxUnread)
			}
		}
	}
	wantUnread(t, "a slow watcher", slow, fmt.Sprintf("reset@%d ", 10*MaxUnread))
}

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set
		var got []*leasehold.SharedNotice
		collect := func(notices []*leasehold.SharedNotice) error {
			got = append(got, notices...)
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		closed, ended := make(chan struct{}), make(chan error, 1)
		w := s.Subscribe(leasehold.WatchRequest{})
		go func() { ended <- w.Run(ctx, "memory", closed, []*leasehold.SharedNotice{record(1, "r", "h")}, collect) }()
		synctest.Wait()
		s.Add(news(2))
		synctest.Wait()
		if text(got) != "1 2 " {
			t.Errorf("told %q, want what was missed and what came", text(got))
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) || !errors.Is(err, leasehold.ErrUnavailable) {
			t.Errorf("Run = %v, want the context's end", err)
		}

		got = nil
		s.Add(news(3)) // unread
		go func() { ended <- w.Run(t.Context(), "memory", closed, nil, collect) }()
		synctest.Wait()
		close(closed)
		if err := <-ended; !errors.Is(err, leasehold.ErrUnavailable) || text(got) != "3 " {
			t.Errorf("Run of a closed store = %v after %q", err, text(got))
		}

		s.Add(news(4))
		mine := errors.New("enough")
		if err := w.Run(t.Context(), "memory", closed, nil, Single(func(leasehold.Notice) error { return mine })); err != mine {
			t.Errorf("Run = %v, want the function's error", err)
		}
		s.Add(news(5))
		if err := w.Run(t.Context(), "memory", closed, nil, Single(func(leasehold.Notice) error { return nil })); err == mine {
			t.Errorf("Run = %v", err)
		}
	})
}

// What is published before Run's store is closed comes before the end.
func TestRunReadsAllBeforeTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 100 {
			var s Set
			var got []*leasehold.SharedNotice
			closed, ended := make(chan struct{}), make(chan error, 1)
			w := s.Subscribe(leasehold.WatchRequest{})
			go func() {
				ended <- w.Run(t.Context(), "memory", closed, nil, func(notices []*leasehold.SharedNotice) error {
					got = append(got, notices...)
					return nil
				})
			}()
			synctest.Wait()
			s.Add(news(1))
			close(closed)
			if <-ended; text(got) != "1 " {
				t.Fatalf("told %q, want the record before the close", text(got))
			}
		}
	})
}
