package local

import "time"

// crowd guesses how many callers keep the engine busy, so that a commit can wait
// for most of them. Those whom one commit sets free come back with their next
// request a moment later; a commit that leaves with the first few makes all the
// others wait for the one after it, and a machine that makes twice as many
// commits as it needs has less time for everything else.
//
// Only callers of Do are counted, such as the requests of the Azure Blob door,
// which come one by one. Those of the JSON API mostly come in batches that their
// client made, one after the other: whoever waits for more of them waits in vain.
//
// It is the committer's alone.
type crowd struct {
	size  int32         // who waited for the last commit, and who waited behind it
	since time.Time     // when that commit ended
	took  time.Duration // how long it took
	pause int           // commits for which nobody is awaited, because it was in vain
}

const (
	// crowded is the smallest crowd that is worth a wait. Whoever works alone,
	// or with a few others, never pays for it.
	crowded = 4
	// worthwhile is how long a commit takes that is worth waiting for: one that
	// costs nothing can be made for each caller.
	worthwhile = 50 * time.Microsecond
	// longestWait is how much later a commit may be for it, and how long ago the
	// last one may have been to tell anything.
	longestWait = time.Millisecond
	// vainPause is for how many commits a wait that brought nobody is the last.
	vainPause = 8
)

// note remembers how it was when a commit ended.
func (c *crowd) note(size int32, took time.Duration, now time.Time) {
	c.size, c.took, c.since = size, took, now
}

// awaited is how many callers the next commit should have, 0 if it should not
// wait: most of them, so that the others are on their way while it writes.
func (c *crowd) awaited(now time.Time) int32 {
	switch {
	case c.size < crowded || c.took < worthwhile || now.Sub(c.since) > longestWait:
		return 0
	case c.pause > 0:
		c.pause--
		return 0
	}
	return c.size * 3 / 4
}

// joinCrowd counts a caller who will wait for the batch.
func (e *Engine) joinCrowd(b *batch) {
	if b != nil && b.callers.Add(1) == b.enough.Load() {
		signal(e.full)
	}
}

// awaitCrowd lets the pending batch fill up while many callers are at work.
func (e *Engine) awaitCrowd() {
	e.mu.Lock()
	b := e.pending
	e.mu.Unlock()
	want, before := e.crowd.awaited(time.Now()), b.callers.Load()
	if before == 0 || before >= want {
		return
	}
	select {
	case <-e.full: // of an earlier batch
	default:
	}
	b.enough.Store(want)
	if b.callers.Load() >= want {
		return
	}
	limit := time.NewTimer(min(longestWait, 4*e.crowd.took))
	defer limit.Stop()
	select {
	case <-e.full:
	case <-e.life.Done():
	case <-limit.C:
		if b.callers.Load() == before {
			e.crowd.pause = vainPause
		}
	}
}
