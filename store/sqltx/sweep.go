package sqltx

import (
	"container/heap"
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

const (
	// stepRows is how many rows one step of a sweep locks, forgets or deletes.
	stepRows = 500
	// maxRemembered is how many ended leases are remembered.
	maxRemembered = 100_000
	// maxEnds is how many ends are waited for in memory. Others are left to the
	// sweep.
	maxEnds = 100_000
)

// ends are when leases end that this store has granted or renewed, so that their
// ends are recorded when they fall due. Each server records its own; the sweep of any
// server records those of a server that died.
type ends struct {
	due   chan struct{} // of one: the first has changed
	sweep chan struct{} // of one: sweep now

	mu   sync.Mutex
	heap endHeap
	at   map[string]time.Time // the latest end of each resource
}

type end struct {
	resource string
	at       time.Time // on this machine's clock
}

func (e *ends) start() {
	e.due, e.sweep, e.at = make(chan struct{}, 1), make(chan struct{}, 1), map[string]time.Time{}
}

func (e *ends) sweepSoon() { signal(e.sweep) }

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// note notes when the row's lease ends, if it has an end and lives.
func (e *ends) note(row machine.Row, now machine.Instant) {
	left := row.Remaining(now)
	e.mu.Lock()
	defer e.mu.Unlock()
	if left <= 0 { // also without an end
		delete(e.at, row.Resource)
		return
	}
	at := time.Now().Add(left + 10*time.Millisecond)
	_, known := e.at[row.Resource]
	switch {
	case known && !at.Before(e.at[row.Resource]):
		e.at[row.Resource] = at // its entry comes up sooner and is put back
		return
	case len(e.heap) >= maxEnds:
		return
	}
	e.at[row.Resource] = at
	heap.Push(&e.heap, end{row.Resource, at})
	if e.heap[0].at.Equal(at) {
		signal(e.due)
	}
}

// next removes the resources whose ends are due, and says how long it is to the
// next; zero: there is none.
func (e *ends) next() (due []string, pause time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := time.Now()
	for len(e.heap) > 0 {
		first := e.heap[0]
		if first.at.After(now) {
			return due, first.at.Sub(now)
		}
		heap.Pop(&e.heap)
		latest, ok := e.at[first.resource]
		switch {
		case !ok: // ended otherwise
		case latest.After(now):
			heap.Push(&e.heap, end{first.resource, latest})
		default:
			delete(e.at, first.resource)
			due = append(due, first.resource)
		}
	}
	return due, 0
}

type endHeap []end

func (h endHeap) Len() int           { return len(h) }
func (h endHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h endHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *endHeap) Push(x any)        { *h = append(*h, x.(end)) }
func (h *endHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// expireLoop records ends as they fall due, unless auto_expire_enabled is off.
func (s *Store) expireLoop(ctx context.Context) {
	for {
		due, wait := s.ends.next()
		if len(due) > 0 {
			s.expireDue(ctx, due)
			continue
		}
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-timer:
		case <-s.ends.due:
		case <-ctx.Done():
			return
		}
	}
}

// expireDue records these ends: one by one, or where there are many by a scan.
func (s *Store) expireDue(ctx context.Context, due []string) {
	if len(due) > 8 {
		for more := true; more; {
			n, err := s.expireStep(ctx, Need{Due: stepRows}, true)
			more = err == nil && n == stepRows
		}
		return
	}
	for _, resource := range due {
		_, _ = s.expireStep(ctx, Need{Resource: resource}, true) // else the sweep does
	}
}

// expireStep records ends, and says of how many leases.
func (s *Store) expireStep(ctx context.Context, n Need, auto bool) (int, error) {
	var ended []string
	err := s.change(ctx, "cleanup", n, func(v *settings.Values, f Found) (w Write) {
		ended = nil
		if auto && !v.AutoExpire {
			return Write{}
		}
		rows := f.Rows
		if n.Resource != "" {
			rows = []machine.Row{f.Row}
		}
		w.Version = newVersion()
		for _, row := range rows {
			if out := machine.Expire(f.Now, row); len(out.Steps) > 0 {
				s.addSteps(&w, v, f.Now, out.Steps)
				ended = append(ended, row.Resource)
			}
		}
		return w
	})
	if err != nil {
		return 0, err
	}
	for _, resource := range ended {
		s.queues.Wake(resource)
	}
	return len(ended), nil
}

// sweepLoop cleans up from time to time. Nothing but tidiness depends on it.
func (s *Store) sweepLoop(ctx context.Context) {
	for {
		interval := settings.Defaults().CleanupInterval
		if _, values := s.control.last(); values != nil {
			interval = values.CleanupInterval
		}
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-s.ends.sweep:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		if _, err := s.cleanUp(ctx, true); err != nil && ctx.Err() == nil {
			s.log.Warn("leasehold: the sweep failed", "store", s.traits.Kind, "error", err)
		}
	}
}

// Cleanup implements leasehold.Cleaner.
func (s *Store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) { return s.cleanUp(ctx, false) }

func (s *Store) cleanUp(ctx context.Context, auto bool) (cleaned leasehold.Cleaned, err error) {
	for {
		n, err := s.expireStep(ctx, Need{Due: stepRows}, auto)
		cleaned.Expired += n
		if err != nil {
			return cleaned, err
		}
		if n < stepRows {
			break
		}
	}
	if err := s.calls.Start("cleanup", ""); err != nil {
		return cleaned, err
	}
	defer s.calls.Done()
	for n := stepRows; n == stepRows; cleaned.Forgotten += n {
		if n, err = s.db.Forget(ctx, Memory, maxRemembered, stepRows); err != nil {
			return cleaned, s.failures.Read(ctx, "cleanup", "", err)
		}
	}
	if s.traits.NoHistory {
		return cleaned, nil
	}
	cleaned.HistoryPurged, err = s.purge(ctx)
	return cleaned, err
}

// purge hides the history records past their retention or limit, and deletes them
// by and by. One record says so.
func (s *Store) purge(ctx context.Context) (int, error) {
	f, err := s.db.Read(ctx, Need{})
	if err != nil {
		return 0, s.failures.Read(ctx, "cleanup", "", err)
	}
	v := s.control.decode(f.Control)
	through, n, err := s.purgePoint(ctx, v)
	if err != nil {
		return 0, s.failures.Read(ctx, "cleanup", "", err)
	}
	if n > 0 {
		n, err = s.purgeThrough(ctx, f.Control.Purged, through, n)
	}
	for more := err == nil; more; {
		more, err = s.db.DeletePurged(ctx, 10*stepRows)
	}
	if err != nil {
		return n, s.failures.Read(ctx, "cleanup", "", err)
	}
	return n, nil
}

// purgePoint leaves room for the record of the purge: or each sweep would drop one
// record only to write another.
func (s *Store) purgePoint(ctx context.Context, v *settings.Values) (through uint64, n int, err error) {
	keep := v.HistoryMaxRows
	through, n, err = s.db.PurgePoint(ctx, v.Retention, keep)
	if err == nil && n > 0 && keep > 0 {
		through, n, err = s.db.PurgePoint(ctx, v.Retention, keep-1)
	}
	return through, n, err
}

func (s *Store) purgeThrough(ctx context.Context, after, through uint64, n int) (int, error) {
	purged := 0
	err := s.change(ctx, "cleanup", Need{Control: true}, func(_ *settings.Values, f Found) Write {
		purged = 0
		if f.Control.Purged != after {
			return Write{} // another server was faster
		}
		purged = n
		return Write{Purged: through, Kept: []bool{true}, Records: []leasehold.Record{{
			At: f.Now.WallTime(), Kind: leasehold.KindPurged, Why: "retention",
			Details: map[string]string{"count": strconv.Itoa(n), "through": strconv.FormatUint(through, 10)},
		}}}
	})
	return purged, err
}
