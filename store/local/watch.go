package local

import (
	"context"
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
		return e.explain("watch", "", err)
	}
	w, notices := e.hub.join(r)
	defer e.hub.leave(w)
	for {
		if len(notices) > 0 {
			if err := each(notices); err != nil {
				return err
			}
		}
		select {
		case <-w.ready:
			notices = w.take()
		case <-ctx.Done():
			return e.explain("watch", "", unavailable(context.Cause(ctx)))
		case <-e.hub.closed:
			if notices = w.take(); len(notices) == 0 {
				return e.explain("watch", "", unavailable(errClosed))
			}
		}
	}
}

// watcher is one watch under way.
type watcher struct {
	filter
	ready chan struct{} // it has something to take

	mu    sync.Mutex
	queue []*leasehold.SharedNotice // not taken yet
	spare []*leasehold.SharedNotice // the memory of what was taken last
	reset uint64                    // the queue begins after this seq and records before it are missing; 0: none are
}

// offer adds notices to what the watcher has to take. Where that is too much,
// or some are missing already, it is told to start again from there.
func (w *watcher) offer(i issue) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i.dropped || len(w.queue)+len(i.notices) > behind {
		clear(w.queue)
		w.queue, w.reset = w.queue[:0], i.last
	} else {
		w.queue = append(w.queue, i.notices...)
	}
	signal(w.ready)
}

// take returns what there is, which is valid until the next take.
func (w *watcher) take() []*leasehold.SharedNotice {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.queue
	if w.reset > 0 {
		taken = append([]*leasehold.SharedNotice{resetTo(w.reset)}, taken...)
		w.reset = 0
	}
	clear(w.spare)
	w.queue, w.spare = w.spare[:0], taken
	return taken
}

// resetTo tells a watcher that it missed records up to this one.
func resetTo(seq uint64) *leasehold.SharedNotice {
	return &leasehold.SharedNotice{Notice: leasehold.Notice{Reset: true, Record: leasehold.Record{Seq: seq}}}
}
