package local

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
)

const (
	// replayed is how many records a watcher that comes back can catch up on.
	replayed = 8192
	// behind is how many notices a watcher may leave unread.
	behind = 4096
)

// hub passes durable records on to watchers. It has a lock of its own: watching
// never holds up a decision.
type hub struct {
	mu       sync.Mutex
	last     uint64             // seq of the newest record published
	recent   []leasehold.Record // the newest, without a gap: a ring once it is full
	oldest   int                // where the ring begins
	watchers map[*watcher]bool
}

type watcher struct {
	leasehold.WatchRequest
	notices chan leasehold.Notice // closed when the watcher is cut off
}

var errSlow = errors.New("the watcher fell too far behind; watch again after the last record it saw")

// Watch implements leasehold.Watcher.
func (e *Engine) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if err := r.Validate(); err != nil {
		return e.explain("watch", "", err)
	}
	w, missed := e.hub.join(r)
	defer e.hub.leave(w)
	for _, n := range missed {
		if err := each(n); err != nil {
			return err
		}
	}
	for {
		select {
		case n, ok := <-w.notices:
			if !ok {
				return e.explain("watch", "", unavailable(errSlow))
			}
			if err := each(n); err != nil {
				return err
			}
		case <-ctx.Done():
			return e.explain("watch", "", unavailable(context.Cause(ctx)))
		case <-e.life.Done():
			return e.explain("watch", "", unavailable(errClosed))
		}
	}
}

// join adds a watcher and returns what it has missed.
func (h *hub) join(r leasehold.WatchRequest) (*watcher, []leasehold.Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &watcher{WatchRequest: r, notices: make(chan leasehold.Notice, behind)}
	if h.watchers == nil {
		h.watchers = map[*watcher]bool{}
	}
	h.watchers[w] = true
	return w, h.missed(w)
}

func (h *hub) missed(w *watcher) []leasehold.Notice {
	if w.After == 0 || w.After == h.last {
		return nil
	}
	if w.After > h.last || len(h.recent) == 0 || w.After < h.recent[h.oldest].Seq-1 {
		return []leasehold.Notice{{Reset: true, Record: leasehold.Record{Seq: h.last}}}
	}
	var missed []leasehold.Notice
	for i := range h.recent {
		r := &h.recent[(h.oldest+i)%len(h.recent)]
		if r.Seq > w.After && w.wants(r) {
			missed = append(missed, leasehold.Notice{Record: *r})
		}
	}
	return missed
}

func (h *hub) leave(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.watchers, w)
}

// begin says where the records that are published from now on start.
func (h *hub) begin(last uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = last
}

// publish passes committed records on.
func (h *hub) publish(records []leasehold.Record) {
	if len(records) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = records[len(records)-1].Seq
	for i := range records {
		h.remember(&records[i])
		h.tell(&records[i])
	}
}

// remember keeps a record in the place of the oldest.
func (h *hub) remember(r *leasehold.Record) {
	if len(h.recent) < replayed {
		h.recent = append(h.recent, *r)
		return
	}
	h.recent[h.oldest] = *r
	h.oldest = (h.oldest + 1) % replayed
}

// refused tells of a refusal, which leaves no record and, while nobody
// watches, costs nothing.
func (h *hub) refused(record func() leasehold.Record) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.watchers) > 0 {
		r := record()
		h.tell(&r)
	}
}

func (h *hub) tell(r *leasehold.Record) {
	for w := range h.watchers {
		if !w.wants(r) {
			continue
		}
		select {
		case w.notices <- leasehold.Notice{Record: *r}:
		default:
			close(w.notices)
			delete(h.watchers, w)
		}
	}
}

func (w *watcher) wants(r *leasehold.Record) bool {
	return strings.HasPrefix(r.Resource, w.Prefix) && (w.Holder == "" || r.Holder == w.Holder)
}
