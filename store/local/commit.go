package local

import "runtime"

// commitLoop is the committer: it writes pending batches one after the other.
func (e *Engine) commitLoop() {
	for {
		select {
		case <-e.batches.work:
			e.commitPending()
		case <-e.lifetime.Done():
			e.mu.Lock()
			e.batches.touch() // the clock, as late as possible
			e.mu.Unlock()
			e.commitPending()
			return
		}
	}
}

// commitPending writes the pending batch. While it is written the next one
// fills: that is group commit.
func (e *Engine) commitPending() {
	e.delayCommit()
	b := e.startCommit()
	if b == nil {
		return
	}
	started := e.feed.now()
	err := e.journal.Commit(&b.Batch)
	observed := e.feed.add(b.decided, started, err)
	e.mu.Lock()
	e.countCommit(err, observed)
	if err != nil {
		e.mu.Unlock()
		e.recover(b, err)
		return
	}
	e.countCleaned(b)
	e.batches.writing = nil
	e.saved = b.Clock
	e.mu.Unlock()
	e.publisher.add(b.events) // first: a caller with an answer may watch for more
	b.finish(nil)
	b.deliver()
	e.batches.spare = b // read only by this goroutine, in startCommit
}

// delayCommit yields the processor while that makes the batch grow, so that the
// callers whom the last commit woke join this one. Without it commits of many
// and commits of one alternate, and half of the fsyncs are wasted.
func (e *Engine) delayCommit() {
	for before := -1; ; {
		e.mu.Lock()
		n := len(e.batches.pending.Rows) + len(e.batches.pending.Records)
		e.mu.Unlock()
		if n <= before {
			return
		}
		before = n
		runtime.Gosched()
	}
}

// startCommit returns the pending batch, or nil if there is nothing to write.
func (e *Engine) startCommit() *batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.batches.pending
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
		Kept:    e.kept,
	}
	e.batches.start()
	return b
}
