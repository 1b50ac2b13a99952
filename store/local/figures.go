package local

import "github.com/leasehold/leasehold"

// Figures are what the engine has and has done. While it recovers from a failed
// commit they are those of before.
type Figures struct {
	Leases         int   // live: active or breaking, and not past their end
	Waiters        int   // in the queues of all resources; reserved positions are not
	HistoryRecords int64 // kept: written and not purged, since the file was made

	// Since Open:
	Commits        uint64            // failed ones too
	CommitFailures uint64            // the journal's errors
	Unobserved     uint64            // commits that Observer.Commit was too slow for
	Cleanups       uint64            // runs that ended, of the timer and of Cleanup
	Cleaned        leasehold.Cleaned // what they removed, durably

	Disk DiskFigures
}

// DiskFigures are about the journal's disk, in bytes. What is not known is -1;
// without a disk all are.
type DiskFigures struct {
	Database int64 // the file and its log
	Free     int64 // for this user, without the reserve
	Reserve  int64 // kept back for a full disk; 0 when there is none, or it is in use
}

// Sizer is a journal on a disk.
type Sizer interface {
	// DiskFigures costs a few system calls. It may be called at any time.
	DiskFigures() DiskFigures
}

// Figures returns them at the cost of a short hold of the lock and, on a disk, of
// a few system calls: cheap enough for each scrape.
func (e *Engine) Figures() Figures {
	e.mu.Lock()
	f := e.totals
	f.Leases, f.Waiters, f.HistoryRecords = e.table.live, e.present.Len(), e.kept
	e.mu.Unlock()
	f.Disk = DiskFigures{-1, -1, -1}
	if j, ok := e.journal.(Sizer); ok {
		f.Disk = j.DiskFigures()
	}
	return f
}

// countCommit adds a commit of the journal to the totals.
func (s *state) countCommit(err error, observed bool) {
	s.totals.Commits++
	if err != nil {
		s.totals.CommitFailures++
	}
	if !observed {
		s.totals.Unobserved++
	}
}

// countCleanup counts a run that has ended.
func (e *Engine) countCleanup() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.totals.Cleanups++
}

// countCleaned adds what a durable batch has cleaned to the totals.
func (s *state) countCleaned(b *batch) {
	s.totals.Cleaned.Expired += b.cleaned.Expired
	s.totals.Cleaned.Forgotten += b.cleaned.Forgotten
	s.totals.Cleaned.HistoryPurged += b.cleaned.HistoryPurged
}
