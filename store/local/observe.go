package local

import "time"

// Observer is told what the engine did. A nil one costs nothing.
//
// Its functions are called by a goroutine of their own, without any lock and one
// at a time. A slow one delays neither a commit nor an answer: up to maxUnobserved
// commits wait for it, and of more it is not told (Figures.Unobserved counts
// them). They must return: Close waits for them.
type Observer struct {
	// Commit is called after each commit, also after one that failed.
	Commit func(Commit)
}

// Commit is one commit of the journal.
type Commit struct {
	// Changes is how many decisions it made durable: grants, renewals, ends of
	// leases, blob writes, settings, rows forgotten, purges. Zero: it saved only
	// the clock.
	Changes int

	// Took is the journal's time, without the time in which the batch filled.
	Took time.Duration

	// Err is why it failed; nil: it is durable. It names no lease id.
	Err error
}

// maxUnobserved is how many commits may wait for Observer.Commit.
const maxUnobserved = 1024

// commitFeed takes commits to Observer.Commit. A nil one does nothing.
type commitFeed struct {
	commits chan Commit
	done    chan struct{} // closed when the last one is delivered
}

// startFeed returns nil where nobody observes.
func startFeed(o *Observer) *commitFeed {
	if o == nil || o.Commit == nil {
		return nil
	}
	f := &commitFeed{commits: make(chan Commit, maxUnobserved), done: make(chan struct{})}
	go func() {
		defer close(f.done)
		for c := range f.commits {
			o.Commit(c)
		}
	}()
	return f
}

// now is the time, for add; zero where nobody observes.
func (f *commitFeed) now() time.Time {
	if f == nil {
		return time.Time{}
	}
	return time.Now()
}

// add passes a commit on, and reports whether there was room. It never blocks.
func (f *commitFeed) add(changes int, started time.Time, err error) bool {
	if f == nil {
		return true
	}
	select {
	case f.commits <- Commit{Changes: changes, Took: time.Since(started), Err: err}:
		return true
	default:
		return false
	}
}

// close delivers the rest and waits for it. Nothing is added any more.
func (f *commitFeed) close() {
	if f != nil {
		close(f.commits)
		<-f.done
	}
}
