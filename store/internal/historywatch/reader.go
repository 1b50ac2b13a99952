package historywatch

import (
	"context"
	"time"

	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/internal/feeds"
)

// reader reads the history for all watchers of the process.
type reader struct {
	watches *Watches
	cancel  context.CancelFunc
	wake    chan struct{} // of one: there may be news
	at      uint64        // everything up to here is published; guarded by Watches.mu
}

// startReader starts a reader of the records after last. mu is held.
func (w *Watches) startReader(last uint64) {
	ctx, cancel := context.WithCancel(context.Background())
	r := &reader{watches: w, cancel: cancel, wake: make(chan struct{}, 1), at: last}
	w.reader = r
	w.readers.Go(func() { r.run(ctx) })
}

// stopReader ends the reader, if there is one. It publishes nothing from now on.
// mu is held.
func (w *Watches) stopReader() {
	if w.reader != nil {
		w.reader.cancel()
		w.reader = nil
	}
}

// run reads when woken, and from time to time though nothing woke it.
func (r *reader) run(ctx context.Context) {
	look := time.NewTimer(jittered(r.watches.o.Look))
	defer look.Stop()
	for {
		looked := false
		select {
		case <-r.wake:
		case <-look.C:
			looked = true
		case <-ctx.Done():
			return
		}
		started := time.Now()
		r.read(ctx, looked)
		look.Reset(jittered(r.watches.o.Look))
		sleep.For(ctx, min(restFactor*time.Since(started), maxRest))
	}
}

// read publishes all there is. An error needs no report: requests fail too, and
// the next look tries again.
func (r *reader) read(ctx context.Context, looked bool) {
	for more := true; more; {
		news, full, err := r.next(ctx, looked)
		if err != nil {
			r.publish(feeds.News{Last: r.at}) // refusals do not wait for the service
			return
		}
		more = r.publish(news) && full
	}
}

// next reads a page and says whether it is a full one. A look also finds records
// that came and went unseen, and a history that lost its end, because the database
// was replaced by an older copy.
func (r *reader) next(ctx context.Context, looked bool) (news feeds.News, full bool, err error) {
	news.Last = r.at
	last := r.at
	if looked {
		if last, err = r.watches.o.Last(ctx); err != nil {
			return news, false, err
		}
	}
	records, oldest, err := r.watches.o.After(ctx, r.at, pageSize)
	switch {
	case err != nil:
	case len(records) == 0:
		// Numbers may be used up without a record. Whatever goes is the oldest.
		news.Last, news.Dropped = last, last < r.at || last > r.at && missing(r.at, oldest)
	default:
		news.Last, news.Dropped = records[len(records)-1].Seq, missing(r.at, oldest)
		news.Notices = notices(records)
	}
	return news, len(records) == pageSize, err
}

// publish passes news and the refusals on, and reports whether anybody still
// wants them.
func (r *reader) publish(news feeds.News) bool {
	w := r.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.reader != r {
		return false
	}
	r.at = news.Last
	news.Notices = append(news.Notices, w.refusals...)
	w.refusals = nil
	w.feeds.Add(news)
	return true
}
