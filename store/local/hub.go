package local

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	// replayed is how many records a watcher that comes back can catch up on.
	replayed = 8192
	// publisherRest is how long the publisher rests after each fan-out, as a
	// multiple of what it took, but no longer than longestRest: it has about a
	// fifth of a processor at most.
	publisherRest = 4
	longestRest   = 20 * time.Millisecond
)

// hub passes durable records on to watchers. The committer only appends to the
// ring and the inbox; one publisher does everything that depends on how many
// watch.
type hub struct {
	mu      sync.Mutex                // never held for longer than a batch or a replay takes to copy
	last    uint64                    // seq of the newest durable record
	ring    []*leasehold.SharedNotice // the newest records, without a gap
	oldest  int                       // where the ring begins once it is full
	inbox   []*leasehold.SharedNotice // not published yet, in commit order
	dropped bool                      // the inbox overflowed
	ended   bool

	watching atomic.Int64 // how many watch; moves with mu and fan held

	// fan guards what follows. It is taken before mu.
	fan    sync.Mutex
	groups map[filter]*group

	work   chan struct{} // the inbox has content
	closed chan struct{} // everything durable is published
}

// start says after which record publishing begins.
func (h *hub) start(last uint64) {
	h.last = last
	h.groups = map[filter]*group{}
	h.work = make(chan struct{}, 1)
	h.closed = make(chan struct{})
}

// add makes committed records known. Their answers wait for it, so it costs no
// more than the batch, whoever watches.
func (h *hub) add(records []leasehold.Record) {
	if len(records) == 0 {
		return
	}
	notices := make([]leasehold.SharedNotice, len(records))
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range records {
		notices[i].Record = records[i]
		h.remember(&notices[i])
		h.enqueue(&notices[i])
	}
	h.last = records[len(records)-1].Seq
}

// remember keeps a record in the place of the oldest.
func (h *hub) remember(n *leasehold.SharedNotice) {
	if len(h.ring) < replayed {
		h.ring = append(h.ring, n)
		return
	}
	h.ring[h.oldest] = n
	h.oldest = (h.oldest + 1) % replayed
}

// refuse makes a refusal known, which leaves no record and, while nobody
// watches, costs nothing.
func (h *hub) refuse(record func() leasehold.Record) {
	if h.watching.Load() == 0 {
		return
	}
	n := &leasehold.SharedNotice{Notice: leasehold.Notice{Record: record()}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.enqueue(n)
}

// enqueue leaves a notice for the publisher. If that is far behind itself, all
// watchers are.
func (h *hub) enqueue(n *leasehold.SharedNotice) {
	if h.watching.Load() == 0 {
		return
	}
	if len(h.inbox) == replayed {
		h.inbox, h.dropped = nil, true
	}
	h.inbox = append(h.inbox, n)
	signal(h.work)
}

// publish is the publisher: it passes notices on until the hub is closed.
func (h *hub) publish() {
	for range h.work {
		began := time.Now()
		if h.fanOut() {
			close(h.closed)
			return
		}
		time.Sleep(min(publisherRest*time.Since(began), longestRest))
	}
}

// close publishes what is left, and ends the watches.
func (h *hub) close() {
	h.mu.Lock()
	h.ended = true
	h.mu.Unlock()
	signal(h.work)
	<-h.closed
}

// fanOut passes on what is in the inbox, and reports whether it was the last
// time.
func (h *hub) fanOut() bool {
	h.fan.Lock()
	defer h.fan.Unlock()
	h.mu.Lock()
	i, ended := h.unpublished(), h.ended
	h.mu.Unlock()
	h.tell(i)
	return ended
}

// issue is what one fan-out passes on.
type issue struct {
	notices []*leasehold.SharedNotice
	dropped bool   // and others before them are missing
	last    uint64 // seq of the newest record then
}

// unpublished empties the inbox. mu is held.
func (h *hub) unpublished() issue {
	i := issue{h.inbox, h.dropped, h.last}
	h.inbox, h.dropped = nil, false
	return i
}

// tell passes an issue on. fan is held, so issues keep their order.
func (h *hub) tell(i issue) {
	for f, g := range h.groups {
		g.add(issue{f.choose(i.notices), i.dropped, i.last})
	}
}

// join adds a watcher and returns what it has missed. What is durable by now
// goes to those who were there before: the watcher is told none of it.
func (h *hub) join(r leasehold.WatchRequest) (*watcher, []*leasehold.SharedNotice) {
	h.fan.Lock()
	defer h.fan.Unlock()
	h.mu.Lock()
	i, missed := h.unpublished(), h.after(r.After)
	h.watching.Add(1)
	h.mu.Unlock()
	h.tell(i)
	f := filter{r.Prefix, r.Holder}
	g := h.groups[f]
	if g == nil {
		g = &group{filter: f}
		h.groups[f] = g
	}
	g.watchers++
	if len(missed) != 1 || !missed[0].Reset {
		missed = f.choose(missed)
	}
	return &watcher{group: g, at: g.end()}, missed
}

// after returns the records after a seq, or a reset if the ring has not all of
// them. mu is held.
func (h *hub) after(seq uint64) []*leasehold.SharedNotice {
	if seq == 0 || seq == h.last {
		return nil
	}
	if seq > h.last || len(h.ring) == 0 || seq < h.ring[h.oldest].Seq-1 {
		return []*leasehold.SharedNotice{resetTo(h.last)}
	}
	all := slices.Concat(h.ring[h.oldest:], h.ring[:h.oldest])
	first, _ := slices.BinarySearchFunc(all, seq+1, func(n *leasehold.SharedNotice, seq uint64) int { return cmp.Compare(n.Seq, seq) })
	return all[first:]
}

func (h *hub) leave(w *watcher) {
	h.fan.Lock()
	defer h.fan.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.group.watchers--; w.group.watchers == 0 {
		delete(h.groups, w.group.filter)
	}
	if h.watching.Add(-1) == 0 {
		h.inbox, h.dropped = nil, false
	}
}
