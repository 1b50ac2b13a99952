// Package feeds passes notices on to watchers. Watchers with the same filter
// share one log, so the publisher's work depends on how many filters there are
// and not on how many watch.
package feeds

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
)

// MaxUnread is how many notices a watcher may have unread before it is reset.
const MaxUnread = 4096

var errClosed = errors.New("the store is closed")

// ResetTo tells a watcher that it missed records up to this one.
func ResetTo(seq uint64) *leasehold.SharedNotice {
	return &leasehold.SharedNotice{Notice: leasehold.Notice{Reset: true, Record: leasehold.Record{Seq: seq}}}
}

// News is what one round of the publisher passes on.
type News struct {
	Notices []*leasehold.SharedNotice
	Dropped bool   // records before them are missing, so every watcher is reset
	Last    uint64 // seq of the newest record that is published with them
}

// Set is all feeds of one store. The zero Set is empty. Its owner guards it by a
// lock of its own; reading a feed needs none.
type Set struct{ feeds map[filter]*feed }

// Add appends to every feed what matches.
func (s *Set) Add(news News) {
	for filter, f := range s.feeds {
		f.add(News{filter.match(news.Notices), news.Dropped, news.Last})
	}
}

// Subscribe returns a watcher of what is added from now on.
func (s *Set) Subscribe(r leasehold.WatchRequest) *Watcher {
	wanted := filter{r.Prefix, r.Holder}
	f := s.feeds[wanted]
	if f == nil {
		if s.feeds == nil {
			s.feeds = map[filter]*feed{}
		}
		f = &feed{filter: wanted}
		s.feeds[wanted] = f
	}
	f.watchers++
	return &Watcher{feed: f, at: f.end()}
}

// Unsubscribe ends a subscription.
func (s *Set) Unsubscribe(w *Watcher) {
	if w.feed.watchers--; w.feed.watchers == 0 {
		delete(s.feeds, w.feed.filter)
	}
}

// filter selects notices.
type filter struct{ prefix, holder string }

// match returns the notices that match: the slice itself if all do.
func (f filter) match(notices []*leasehold.SharedNotice) []*leasehold.SharedNotice {
	if f == (filter{}) {
		return notices
	}
	var matching []*leasehold.SharedNotice
	for _, n := range notices {
		if strings.HasPrefix(n.Resource, f.prefix) && (f.holder == "" || n.Holder == f.holder) {
			matching = append(matching, n)
		}
	}
	return matching
}

// feed is the log of the notices that match one filter.
type feed struct {
	filter   filter
	watchers int // guarded by the Set's owner

	mu    sync.Mutex
	log   []*leasehold.SharedNotice // the newest; elements never change, so they are read unlocked
	first uint64                    // position of the log's beginning
	last  uint64                    // seq of the newest record that was published, matching or not
	more  chan struct{}             // closed when there is more; nil: nobody waits
}

// add appends what matches. If something before it is missing, every watcher is
// reset.
func (f *feed) add(news News) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = news.Last
	switch {
	case news.Dropped:
		f.first += uint64(len(f.log)+len(news.Notices)) + MaxUnread + 1
		f.log = nil
	case len(news.Notices) == 0:
		return
	default:
		f.log = append(f.log, news.Notices...)
		f.trim()
	}
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// trim drops what no watcher may read any more, once that is worth a copy.
func (f *feed) trim() {
	if extra := len(f.log) - MaxUnread; extra > MaxUnread {
		f.first += uint64(extra)
		f.log = slices.Clone(f.log[extra:])
	}
}

// end is the position after the newest notice.
func (f *feed) end() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + uint64(len(f.log))
}

// Watcher is one watch under way.
type Watcher struct {
	feed *feed
	at   uint64 // the position that it reads next
}

// Match returns those of the notices that the watcher wants.
func (w *Watcher) Match(notices []*leasehold.SharedNotice) []*leasehold.SharedNotice {
	return w.feed.filter.match(notices)
}

// read returns what the watcher has not read yet, or, if there is nothing, a
// channel that is closed when there is. A watcher that is too far behind is
// reset to the end.
func (w *Watcher) read() ([]*leasehold.SharedNotice, <-chan struct{}) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.first + uint64(len(f.log))
	switch unread := end - w.at; {
	case unread > MaxUnread:
		w.at = end
		return []*leasehold.SharedNotice{ResetTo(f.last)}, nil
	case unread > 0:
		w.at = end
		return f.log[len(f.log)-int(unread):], nil
	}
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return nil, f.more
}

// Run calls each with missed, which may be empty, and then with all that is
// added, until each returns an error, which it returns, ctx ends, or closed is
// closed and all is read: ErrUnavailable of that store.
func (w *Watcher) Run(ctx context.Context, store string, closed <-chan struct{}, missed []*leasehold.SharedNotice, each func([]*leasehold.SharedNotice) error) error {
	notices := missed
	for ended := false; ; {
		if len(notices) > 0 {
			if err := each(notices); err != nil {
				return err
			}
		}
		var more <-chan struct{}
		if notices, more = w.read(); len(notices) > 0 && ctx.Err() == nil {
			continue
		}
		if ended {
			return unavailable(store, errClosed)
		}
		select {
		case <-more:
		case <-ctx.Done():
			return unavailable(store, context.Cause(ctx))
		case <-closed:
			ended = true // read once more: all that is published is there now
		}
	}
}

func unavailable(store string, cause error) error {
	return &leasehold.Error{Op: "watch", Store: store, Reason: leasehold.ReasonUnavailable, Cause: cause}
}

// Single makes the function of a BatchWatcher out of that of a Watcher.
func Single(each func(leasehold.Notice) error) func([]*leasehold.SharedNotice) error {
	return func(notices []*leasehold.SharedNotice) error {
		for _, n := range notices {
			if err := each(n.Notice); err != nil {
				return err
			}
		}
		return nil
	}
}
