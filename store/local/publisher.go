package local

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/feeds"
)

const (
	// replaySize is how many records a watcher that comes back can catch up on.
	replaySize = 8192
	// publisherRest is how long the publisher rests after each round, as a
	// multiple of the time it took, but no longer than maxRest: it uses about a
	// fifth of a processor at most.
	publisherRest = 4
	maxRest       = 20 * time.Millisecond
)

// publisher passes durable records to watchers. The committer only appends to
// the ring and the inbox; one goroutine does everything that depends on how many
// watch.
type publisher struct {
	mu      sync.Mutex                // held only while a batch or a replay is copied
	last    uint64                    // seq of the newest durable record
	ring    []*leasehold.SharedNotice // the newest records, none missing
	oldest  int                       // where the ring begins once it is full
	inbox   []*leasehold.SharedNotice // not published yet, in commit order
	dropped bool                      // the inbox overflowed
	ended   bool

	watching atomic.Int64 // how many watch; changes with mu and feedsMu held

	feedsMu sync.Mutex // locked before mu; held while publishing, so that the order is kept
	feeds   feeds.Set

	work   chan struct{} // the inbox has content
	closed chan struct{} // everything durable is published
}

// newPublisher publishes the records after last.
func newPublisher(last uint64) *publisher {
	return &publisher{
		last:   last,
		work:   make(chan struct{}, 1),
		closed: make(chan struct{}),
	}
}

// add publishes committed records. Their answers wait for it, so its cost
// depends on the batch and not on who watches.
func (p *publisher) add(records []leasehold.Record) {
	if len(records) == 0 {
		return
	}
	notices := make([]leasehold.SharedNotice, len(records))
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range records {
		notices[i].Record = records[i]
		p.remember(&notices[i])
		p.enqueue(&notices[i])
	}
	p.last = records[len(records)-1].Seq
}

// remember puts a record into the ring.
func (p *publisher) remember(n *leasehold.SharedNotice) {
	if len(p.ring) < replaySize {
		p.ring = append(p.ring, n)
		return
	}
	p.ring[p.oldest] = n
	p.oldest = (p.oldest + 1) % replaySize
}

// addRefusal publishes a refusal, which leaves no record and, while nobody
// watches, costs nothing.
func (p *publisher) addRefusal(op string, now machine.Instant, out machine.Outcome) {
	if p.watching.Load() == 0 {
		return
	}
	name := out.Row.Resource
	if name == "" && out.Row.Claims != nil {
		name = leasehold.SetPrefix // it never got more of a name
	}
	details := map[string]string{"operation": op}
	machine.DetailCycle(details, out.Cycle)
	n := &leasehold.SharedNotice{Notice: leasehold.Notice{Record: leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindRefused, Resource: name,
		Holder: out.Row.Holder, Token: out.Row.Token, Before: out.Row.State, After: out.Row.State,
		Why: string(out.Reason), Details: details,
	}}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enqueue(n)
}

// enqueue adds a notice to the inbox. If the publisher is that far behind, all
// watchers are. mu is held.
func (p *publisher) enqueue(n *leasehold.SharedNotice) {
	if p.watching.Load() == 0 {
		return
	}
	if len(p.inbox) == replaySize {
		p.inbox, p.dropped = nil, true
	}
	p.inbox = append(p.inbox, n)
	signal(p.work)
}

// run publishes until the publisher is closed.
func (p *publisher) run() {
	for range p.work {
		started := time.Now()
		if p.publish() {
			close(p.closed)
			return
		}
		time.Sleep(min(publisherRest*time.Since(started), maxRest))
	}
}

// close publishes what is left, and ends the watches.
func (p *publisher) close() {
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	signal(p.work)
	<-p.closed
}

// publish passes the inbox to the feeds, and reports whether it was the last
// time.
func (p *publisher) publish() bool {
	p.feedsMu.Lock()
	defer p.feedsMu.Unlock()
	p.mu.Lock()
	news, ended := p.emptyInbox(), p.ended
	p.mu.Unlock()
	p.feeds.Add(news)
	return ended
}

// emptyInbox returns the content of the inbox. mu is held.
func (p *publisher) emptyInbox() feeds.News {
	news := feeds.News{Notices: p.inbox, Dropped: p.dropped, Last: p.last}
	p.inbox, p.dropped = nil, false
	return news
}

// subscribe adds a watcher and returns what it has missed. What is durable by
// now goes to the watchers that were there before, and not to this one.
func (p *publisher) subscribe(r leasehold.WatchRequest) (*feeds.Watcher, []*leasehold.SharedNotice) {
	p.feedsMu.Lock()
	defer p.feedsMu.Unlock()
	p.mu.Lock()
	news, missed := p.emptyInbox(), p.after(r.After)
	p.watching.Add(1)
	p.mu.Unlock()
	p.feeds.Add(news)
	w := p.feeds.Subscribe(r)
	if len(missed) != 1 || !missed[0].Reset {
		missed = w.Match(missed)
	}
	return w, missed
}

// after returns the records after a seq, or a reset if the ring has not all of
// them. mu is held.
func (p *publisher) after(seq uint64) []*leasehold.SharedNotice {
	if seq == 0 || seq == p.last {
		return nil
	}
	if seq > p.last || len(p.ring) == 0 || seq < p.ring[p.oldest].Seq-1 {
		return []*leasehold.SharedNotice{feeds.ResetTo(p.last)}
	}
	all := slices.Concat(p.ring[p.oldest:], p.ring[:p.oldest])
	first, _ := slices.BinarySearchFunc(all, seq+1, func(n *leasehold.SharedNotice, seq uint64) int { return cmp.Compare(n.Seq, seq) })
	return all[first:]
}

func (p *publisher) unsubscribe(w *feeds.Watcher) {
	p.feedsMu.Lock()
	defer p.feedsMu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.feeds.Unsubscribe(w)
	if p.watching.Add(-1) == 0 {
		p.inbox, p.dropped = nil, false
	}
}

// Watch implements leasehold.Watcher.
func (e *Engine) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	return e.WatchBatches(ctx, r, feeds.Single(each))
}

// WatchBatches implements leasehold.BatchWatcher.
func (e *Engine) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if err := r.Validate(); err != nil {
		return e.opError("watch", "", err)
	}
	w, missed := e.publisher.subscribe(r)
	defer e.publisher.unsubscribe(w)
	return w.Run(ctx, e.kind, e.publisher.closed, missed, each)
}
