package local

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
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

	feedsMu sync.Mutex // locked before mu
	feeds   map[filter]*feed

	work   chan struct{} // the inbox has content
	closed chan struct{} // everything durable is published
}

// newPublisher publishes the records after last.
func newPublisher(last uint64) *publisher {
	return &publisher{
		last:   last,
		feeds:  map[filter]*feed{},
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
	n := &leasehold.SharedNotice{Notice: leasehold.Notice{Record: leasehold.Record{
		At: now.WallTime(), Kind: leasehold.KindRefused, Resource: out.Row.Resource,
		Holder: out.Row.Holder, Token: out.Row.Token, Before: out.Row.State, After: out.Row.State,
		Why: string(out.Reason), Details: map[string]string{"operation": op},
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
	p.distribute(news)
	return ended
}

// publication is what one round passes on.
type publication struct {
	notices []*leasehold.SharedNotice
	dropped bool   // others before them are missing
	last    uint64 // seq of the newest record then
}

// emptyInbox returns the content of the inbox. mu is held.
func (p *publisher) emptyInbox() publication {
	news := publication{p.inbox, p.dropped, p.last}
	p.inbox, p.dropped = nil, false
	return news
}

// distribute appends to every feed what matches. feedsMu is held, so
// publications keep their order.
func (p *publisher) distribute(news publication) {
	for filter, f := range p.feeds {
		f.add(publication{filter.match(news.notices), news.dropped, news.last})
	}
}

// subscribe adds a watcher and returns what it has missed. What is durable by
// now goes to the watchers that were there before, and not to this one.
func (p *publisher) subscribe(r leasehold.WatchRequest) (*watcher, []*leasehold.SharedNotice) {
	p.feedsMu.Lock()
	defer p.feedsMu.Unlock()
	p.mu.Lock()
	news, missed := p.emptyInbox(), p.after(r.After)
	p.watching.Add(1)
	p.mu.Unlock()
	p.distribute(news)
	filter := filter{r.Prefix, r.Holder}
	f := p.feeds[filter]
	if f == nil {
		f = &feed{filter: filter}
		p.feeds[filter] = f
	}
	f.watchers++
	if len(missed) != 1 || !missed[0].Reset {
		missed = filter.match(missed)
	}
	return &watcher{feed: f, at: f.end()}, missed
}

// after returns the records after a seq, or a reset if the ring has not all of
// them. mu is held.
func (p *publisher) after(seq uint64) []*leasehold.SharedNotice {
	if seq == 0 || seq == p.last {
		return nil
	}
	if seq > p.last || len(p.ring) == 0 || seq < p.ring[p.oldest].Seq-1 {
		return []*leasehold.SharedNotice{resetTo(p.last)}
	}
	all := slices.Concat(p.ring[p.oldest:], p.ring[:p.oldest])
	first, _ := slices.BinarySearchFunc(all, seq+1, func(n *leasehold.SharedNotice, seq uint64) int { return cmp.Compare(n.Seq, seq) })
	return all[first:]
}

func (p *publisher) unsubscribe(w *watcher) {
	p.feedsMu.Lock()
	defer p.feedsMu.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.feed.watchers--; w.feed.watchers == 0 {
		delete(p.feeds, w.feed.filter)
	}
	if p.watching.Add(-1) == 0 {
		p.inbox, p.dropped = nil, false
	}
}
