package local

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// loaded is a journal's content, ready to be adopted.
type loaded struct {
	State
	table  *table
	config config
}

// load reads the journal from scratch.
func (e *Engine) load(ctx context.Context) (loaded, error) {
	l := loaded{table: newTable()}
	var err error
	l.State, err = e.journal.Load(ctx, func(row machine.Row) error {
		if !row.State.Locked() {
			row.Metadata = nil // an older program kept it
		}
		l.table.put(row)
		return nil
	})
	if err != nil {
		return l, err
	}
	l.table.sortEnded()
	l.config, err = configFrom(l.Settings)
	return l, err
}

// adopt makes what was loaded the engine's memory. The token counter is not
// part of it: it never goes back.
func (e *Engine) adopt(l loaded) {
	e.table = l.table
	e.config = l.config
	e.seq = l.Seq
	e.purged = l.Purged
	e.saved = l.Clock
	e.wake = 0
}

const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = time.Second
)

// recover brings the engine back after the commit of b failed. Decisions made
// on top of b are void; b itself may have reached the disk all the same, which
// the reloaded commit counter tells. Until then nothing is decided.
func (e *Engine) recover(b *batch, cause error) {
	e.mu.Lock()
	e.down = cause
	void := e.pending
	e.pending = newBatch(void.number + 1)
	e.flight = nil
	e.mu.Unlock()
	void.finish(unavailable(cause))

	l, ok := e.reload(b, cause)
	if !ok { // closed before anybody could know
		tell(void.answers, unavailable(cause))
		tell(b.answers, unknown(cause))
		return
	}
	made := l.Commit >= b.number
	voids := []*batch{void}
	if !made {
		voids = []*batch{b, void}
	}
	if made {
		e.hub.add(b.told)
	}
	e.resume(l, voids)
	if made {
		b.deliver()
	}
	if b.finished() {
		return
	}
	if made {
		b.finish(nil)
	} else {
		b.finish(unavailable(cause))
	}
}

// reload loads the journal, as often as it takes. Callers that wait for b are
// not kept through a long outage: after the first failure they hear that
// nobody knows.
func (e *Engine) reload(b *batch, cause error) (loaded, bool) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		l, err := e.load(e.life)
		if err == nil {
			return l, true
		}
		if !b.finished() {
			b.finish(unknown(cause))
		}
		select {
		case <-time.After(pause):
		case <-e.life.Done():
			return loaded{}, false
		}
	}
}

// tell answers waiters whose grants will never be known to stand.
func tell(deliveries []delivery, err error) {
	for _, d := range deliveries {
		d.to.answer <- answer{err: err}
	}
}

// resume starts to decide again: waiters whose grants are void get their
// places back before anybody is served, and waits that failed are recorded
// again, because they did fail.
func (e *Engine) resume(l loaded, voids []*batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.adopt(l)
	e.down = nil
	if e.closed {
		for _, b := range voids {
			tell(b.answers, unavailable(errClosed))
		}
		return
	}
	now := e.now()
	for _, b := range voids {
		for _, r := range b.told {
			if r.Kind == leasehold.KindFailed {
				e.record(r)
			}
		}
	}
	for _, b := range voids {
		for _, d := range b.answers {
			e.requeue(now, d)
		}
	}
	for _, row := range e.orphans {
		e.giveBack(now, row)
	}
	for _, r := range e.owed {
		e.record(r)
	}
	e.orphans, e.owed = nil, nil
	for resource := range e.queues {
		e.serve(now, resource)
	}
	signal(e.nudge)
}
