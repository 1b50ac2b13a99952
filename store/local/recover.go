package local

import (
	"context"
	"log/slog"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// loaded is a journal's content, ready to be adopted.
type loaded struct {
	JournalState
	table  *table
	config *settings.Values
}

// load reads the journal from scratch.
func load(ctx context.Context, journal Journal) (loaded, error) {
	l := loaded{table: newTable()}
	var err error
	l.JournalState, err = journal.Load(ctx, func(row machine.Row) error {
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
	l.config, err = settings.From(l.Settings)
	return l, err
}

const (
	firstRetry = 10 * time.Millisecond
	lastRetry  = time.Second
)

// recover brings the engine back after the commit of b failed. Decisions made on
// top of b are void. Whether b itself is on disk all the same, the reloaded
// commit counter shows. Until then nothing is decided.
func (e *Engine) recover(b *batch, cause error) {
	e.mu.Lock()
	e.down = cause
	void := e.batches.void()
	e.mu.Unlock()
	void.finish(unavailable(cause))
	started := time.Now()
	e.log.LogAttrs(e.lifetime, slog.LevelError, "the store is unavailable: a commit failed",
		slog.String("store", e.kind), slog.Any("error", cause))

	l, ok := e.reload(b, cause)
	if !ok { // closed before anybody could know
		void.fail(unavailable(cause))
		b.fail(unknown(cause))
		return
	}
	e.log.LogAttrs(e.lifetime, slog.LevelInfo, "the store is available again",
		slog.String("store", e.kind), slog.Duration("after", time.Since(started)))
	var result error
	if l.Commit >= b.number {
		e.mu.Lock()
		e.countCleaned(b)
		e.mu.Unlock()
		e.publisher.add(b.events)
		e.resume(l, void)
		b.deliver()
	} else {
		e.resume(l, b, void)
		result = unavailable(cause)
	}
	if !b.finished() {
		b.finish(result)
	}
}

// reload loads the journal, as often as it takes. Callers that wait for b are
// not kept through a long outage: after the first failure they are answered
// that the result is unknown.
func (e *Engine) reload(b *batch, cause error) (loaded, bool) {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		l, err := load(e.lifetime, e.journal)
		if err == nil {
			return l, true
		}
		if !b.finished() {
			b.finish(unknown(cause))
			e.log.LogAttrs(e.lifetime, slog.LevelError, "the store cannot be loaded again yet; it is tried until it can",
				slog.String("store", e.kind), slog.Any("error", err))
		}
		if !sleep.For(e.lifetime, pause) {
			return loaded{}, false
		}
	}
}

// resume starts to decide again. Waiters whose grants are void get their
// positions back before anybody is served, and waits that failed are recorded
// again, because they did fail. Those refused for a cycle go back, too: what closed it
// may be void.
func (e *Engine) resume(l loaded, voids ...*batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.adopt(l)
	e.down = nil
	if e.closed {
		for _, b := range voids {
			b.fail(unavailable(errClosed))
		}
		return
	}
	now := e.clock.now()
	for _, b := range voids {
		for _, r := range b.events {
			if r.Kind == leasehold.KindFailed && r.Why != whyDeadlock {
				e.record(r)
			}
		}
	}
	for _, b := range voids {
		for _, d := range b.answers {
			e.requeue(now, d)
		}
	}
	for _, row := range e.unclaimed {
		e.releaseUnclaimed(now, row)
	}
	for _, r := range e.unrecorded {
		e.record(r)
	}
	e.unclaimed, e.unrecorded = nil, nil
	e.serveAllSets(now) // first: one that comes after a waiter for a plain name yields to it
	for resource := range e.queues {
		e.grantToWaiters(now, resource)
	}
	e.refuseAllCycles(now) // what had ended, and lives again, may close one
	signal(e.rearm)
}
