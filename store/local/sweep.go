package local

import (
	"context"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// sweep is the background sweeper. Nothing but tidiness depends on it.
func (e *Engine) sweep() {
	for {
		timer := time.NewTimer(e.sweepInterval())
		select {
		case <-timer.C:
			e.tidyUp()
		case <-e.tidy:
			e.tidyUp()
		case <-e.life.Done():
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

func (e *Engine) sweepInterval() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.config.cleanupInterval
}

// tidyUp is one sweep. Errors need no report here: a journal that cannot be
// read fails requests too, and they do report.
func (e *Engine) tidyUp() {
	e.mu.Lock()
	auto := e.config.autoExpire
	e.mu.Unlock()
	_, _ = e.clean(e.life, auto)
}

// Cleanup implements leasehold.Cleaner.
func (e *Engine) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	if ctx.Err() != nil {
		return leasehold.Cleaned{}, e.explain("cleanup", "", unavailable(context.Cause(ctx)))
	}
	cleaned, err := e.clean(ctx, true)
	return cleaned, e.explain("cleanup", "", err)
}

func (e *Engine) clean(ctx context.Context, expiries bool) (leasehold.Cleaned, error) {
	var cleaned leasehold.Cleaned
	for more := true; more; {
		var b *batch
		var err error
		if b, more, err = e.cleanBite(&cleaned, expiries); err != nil {
			return cleaned, err
		}
		if err := e.durable(ctx, b); err != nil {
			return cleaned, err
		}
	}
	n, err := e.purge(ctx)
	cleaned.HistoryPurged = n
	return cleaned, err
}

// cleanBite tidies a bounded number of rows under one hold of the lock.
func (e *Engine) cleanBite(cleaned *leasehold.Cleaned, expiries bool) (*batch, bool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.ready(); err != nil {
		return nil, false, unavailable(err)
	}
	now := e.now()
	more := false
	if expiries {
		before := e.table.due.len()
		more = e.expire(now)
		if e.config.autoExpire {
			cleaned.Expired += before - e.table.due.len()
		}
		n := e.settleLapsed(now)
		cleaned.Expired += n
		more = more || n == bite
	}
	n := e.forgetOld(now, bite)
	cleaned.Forgotten += n
	return e.latest(), more || n >= bite, nil
}

// purge drops history records that are past their retention, as one record.
func (e *Engine) purge(ctx context.Context) (int, error) {
	e.mu.Lock()
	keep, retention := e.historyLimit(), e.config.retention
	e.mu.Unlock()
	reading, _ := readClocks()
	before := time.Unix(0, reading.Wall).Add(-retention)
	through, n, err := e.journal.PurgePoint(ctx, before, keep)
	if err == nil && n > 0 && keep > 0 {
		// The record of the purge needs a place too: or each sweep would drop a
		// record of something that happened for one that says so.
		through, n, err = e.journal.PurgePoint(ctx, before, keep-1)
	}
	if err != nil {
		return 0, unavailable(err)
	}
	b, n, err := e.purgeThrough(through, n)
	if err != nil {
		return 0, err
	}
	return n, e.durable(ctx, b)
}

func (e *Engine) purgeThrough(through uint64, n int) (*batch, int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.ready(); err != nil {
		return nil, 0, unavailable(err)
	}
	// A purge that would only drop the record of the last purge is none.
	if through <= e.purged || n == 0 || n == 1 && through == e.lastPurge {
		return e.latest(), 0, nil // which may be another one's purge
	}
	e.purged = through
	e.record(leasehold.Record{
		At: e.now().WallTime(), Kind: leasehold.KindPurged, Why: "retention",
		Details: map[string]string{"count": strconv.Itoa(n), "through": strconv.FormatUint(through, 10)},
	})
	e.lastPurge = e.seq
	return e.pending, n, nil
}
