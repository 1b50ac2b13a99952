package local

import (
	"slices"
	"strings"
	"sync"

	"github.com/leasehold/leasehold"
)

// behind is how many notices a watcher may leave unread.
const behind = 4096

// filter is what watchers ask for.
type filter struct{ prefix, holder string }

// choose returns the notices that match: the slice itself if all do.
func (f filter) choose(notices []*leasehold.SharedNotice) []*leasehold.SharedNotice {
	if f == (filter{}) {
		return notices
	}
	var chosen []*leasehold.SharedNotice
	for _, n := range notices {
		if strings.HasPrefix(n.Resource, f.prefix) && (f.holder == "" || n.Holder == f.holder) {
			chosen = append(chosen, n)
		}
	}
	return chosen
}

// group is everybody who watches with the same filter. They share one log, so
// the publisher's work does not depend on how many they are.
type group struct {
	filter   filter
	watchers int // guarded by hub.fan

	mu    sync.Mutex
	log   []*leasehold.SharedNotice // the newest; what it once held never changes, so it is read unlocked
	first uint64                    // position of the log's beginning
	last  uint64                    // seq of the newest record that was matched, wanted or not
	more  chan struct{}             // closed when there is more; nil: nobody waits
}

// add appends what matches. If something before it is missing, everybody starts
// again behind it.
func (g *group) add(i issue) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = i.last
	switch {
	case i.dropped:
		g.first += uint64(len(g.log)+len(i.notices)) + behind + 1
		g.log = nil
	case len(i.notices) == 0:
		return
	default:
		g.log = append(g.log, i.notices...)
		g.trim()
	}
	if g.more != nil {
		close(g.more)
		g.more = nil
	}
}

// trim drops what nobody may read any more, now and then.
func (g *group) trim() {
	if extra := len(g.log) - behind; extra > behind {
		g.first += uint64(extra)
		g.log = slices.Clone(g.log[extra:])
	}
}

// end is the position after the newest notice.
func (g *group) end() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first + uint64(len(g.log))
}

// watcher is one watch under way.
type watcher struct {
	group *group
	at    uint64 // the position that it reads next
}

// take returns what the watcher has not read yet, or, if there is nothing, a
// channel that is closed when there is. One that is too far behind goes on with
// what comes next.
func (w *watcher) take() ([]*leasehold.SharedNotice, <-chan struct{}) {
	g := w.group
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.first + uint64(len(g.log))
	switch unread := end - w.at; {
	case unread > behind:
		w.at = end
		return []*leasehold.SharedNotice{resetTo(g.last)}, nil
	case unread > 0:
		w.at = end
		return g.log[len(g.log)-int(unread):], nil
	}
	if g.more == nil {
		g.more = make(chan struct{})
	}
	return nil, g.more
}

// resetTo tells a watcher that it missed records up to this one.
func resetTo(seq uint64) *leasehold.SharedNotice {
	return &leasehold.SharedNotice{Notice: leasehold.Notice{Reset: true, Record: leasehold.Record{Seq: seq}}}
}
