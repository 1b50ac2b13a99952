package local

import (
	"runtime"

	"github.com/leasehold/leasehold"
)

// commit is the committer: it writes pending batches one after the other.
func (e *Engine) commit() {
	for {
		select {
		case <-e.work:
			e.commitPending()
		case <-e.life.Done():
			e.mu.Lock()
			e.touch() // the clock, as late as possible
			e.mu.Unlock()
			e.commitPending()
			return
		}
	}
}

// commitPending writes the pending batch. While it is on its way the next one
// fills up: that is all there is to group commit.
func (e *Engine) commitPending() {
	e.gather()
	b := e.launch()
	if b == nil {
		return
	}
	if err := e.journal.Commit(&b.Batch); err != nil {
		e.recover(b, err)
		return
	}
	e.mu.Lock()
	e.flight = nil
	e.saved = b.Clock
	e.mu.Unlock()
	e.hub.add(b.told) // first: whoever has the answer may watch for more
	b.finish(nil)
	b.deliver()
	e.spare = b
}

// gather lets those whom the last commit set free join this one: it steps
// aside as long as that makes the batch grow. Without it commits of everybody
// and commits of one take turns, and half of the fsyncs are wasted.
func (e *Engine) gather() {
	for before := -1; ; {
		e.mu.Lock()
		n := len(e.pending.Rows) + len(e.pending.Records)
		e.mu.Unlock()
		if n <= before {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// launch takes the pending batch, or nil if there is nothing to write.
func (e *Engine) launch() *batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.pending
	if b.empty() {
		return nil
	}
	clock, reading := e.clock.save()
	b.Counters = Counters{
		Commit:  b.number,
		Clock:   clock,
		Reading: reading,
		Token:   e.token,
		Seq:     e.seq,
		Purged:  e.purged,
	}
	e.flight, e.pending = b, newBatch(b.number+1)
	if e.spare != nil {
		e.pending.moveInto(e.spare)
		e.spare = nil
	}
	return b
}

// deliver answers the waiters.
func (b *batch) deliver() {
	for _, d := range b.answers {
		d.to.answer <- d.answer
	}
}

// unavailable is the error for decisions that are certainly void.
func unavailable(cause error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: cause}
}

// unknown is the error for decisions whose fate cannot be told.
func unknown(cause error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: cause}
}
