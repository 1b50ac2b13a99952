package local

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
)

// Watch implements leasehold.Watcher.
func (e *Engine) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	return e.WatchBatches(ctx, r, func(notices []*leasehold.SharedNotice) error {
		for _, n := range notices {
			if err := each(n.Notice); err != nil {
				return err
			}
		}
		return nil
	})
}

// WatchBatches implements leasehold.BatchWatcher.
func (e *Engine) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if err := r.Validate(); err != nil {
		return e.opError("watch", "", err)
	}
	w, notices := e.publisher.subscribe(r)
	defer e.publisher.unsubscribe(w)
	var more <-chan struct{}
	for closed := false; ; {
		if len(notices) > 0 {
			if err := each(notices); err != nil {
				return err
			}
		}
		if notices, more = w.read(); len(notices) > 0 && ctx.Err() == nil {
			continue
		}
		if closed {
			return e.opError("watch", "", unavailable(errClosed))
		}
		select {
		case <-more:
		case <-ctx.Done():
			return e.opError("watch", "", unavailable(context.Cause(ctx)))
		case <-e.publisher.closed:
			closed = true // read once more: all that is durable is there now
		}
	}
}

// maxUnread is how many notices a watcher may have unread.
const maxUnread = 4096

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

// feed is the log of the notices that match one filter. All watchers with that
// filter share it, so the publisher's work does not depend on how many they are.
type feed struct {
	filter   filter
	watchers int // guarded by publisher.feedsMu

	mu    sync.Mutex
	log   []*leasehold.SharedNotice // the newest; elements never change, so they are read unlocked
	first uint64                    // position of the log's beginning
	last  uint64                    // seq of the newest record that was published, matching or not
	more  chan struct{}             // closed when there is more; nil: nobody waits
}

// add appends what matches. If something before it is missing, every watcher is
// reset.
func (f *feed) add(news publication) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = news.last
	switch {
	case news.dropped:
		f.first += uint64(len(f.log)+len(news.notices)) + maxUnread + 1
		f.log = nil
	case len(news.notices) == 0:
		return
	default:
		f.log = append(f.log, news.notices...)
		f.trim()
	}
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// trim drops what no watcher may read any more, once that is worth a copy.
func (f *feed) trim() {
	if extra := len(f.log) - maxUnread; extra > maxUnread {
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

// watcher is one watch under way.
type watcher struct {
	feed *feed
	at   uint64 // the position that it reads next
}

// read returns what the watcher has not read yet, or, if there is nothing, a
// channel that is closed when there is. A watcher that is too far behind is
// reset to the end.
func (w *watcher) read() ([]*leasehold.SharedNotice, <-chan struct{}) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	end := f.first + uint64(len(f.log))
	switch unread := end - w.at; {
	case unread > maxUnread:
		w.at = end
		return []*leasehold.SharedNotice{resetTo(f.last)}, nil
	case unread > 0:
		w.at = end
		return f.log[len(f.log)-int(unread):], nil
	}
	if f.more == nil {
		f.more = make(chan struct{})
	}
	return nil, f.more
}

// resetTo tells a watcher that it missed records up to this one.
func resetTo(seq uint64) *leasehold.SharedNotice {
	return &leasehold.SharedNotice{Notice: leasehold.Notice{Reset: true, Record: leasehold.Record{Seq: seq}}}
}
