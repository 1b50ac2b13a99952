package local

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
)

// sweepLoop cleans up from time to time. Nothing but tidiness depends on it.
func (e *Engine) sweepLoop() {
	for {
		e.mu.Lock()
		timer := time.NewTimer(e.config.CleanupInterval)
		e.mu.Unlock()
		select {
		case <-timer.C:
		case <-e.sweepNow:
		case <-e.lifetime.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		e.mu.Lock()
		expiries := e.config.AutoExpire
		e.mu.Unlock()
		// Errors need no report here: a journal that cannot be read fails
		// requests too.
		_, _ = e.cleanUp(e.lifetime, expiries)
	}
}

// Cleanup implements leasehold.Cleaner.
func (e *Engine) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	if ctx.Err() != nil {
		return leasehold.Cleaned{}, e.opError("cleanup", "", unavailable(context.Cause(ctx)))
	}
	cleaned, err := e.cleanUp(ctx, true)
	return cleaned, e.opError("cleanup", "", err)
}

func (e *Engine) cleanUp(ctx context.Context, expiries bool) (leasehold.Cleaned, error) {
	defer e.countCleanup()
	var cleaned leasehold.Cleaned
	for more := true; more; {
		var b *batch
		var err error
		if b, more, err = e.cleanStep(&cleaned, expiries); err != nil {
			return cleaned, err
		}
		if err := b.durable(ctx); err != nil {
			return cleaned, err
		}
	}
	n, err := e.purge(ctx)
	cleaned.HistoryPurged = n
	return cleaned, err
}

// cleanStep cleans a bounded number of rows under one hold of the lock.
func (e *Engine) cleanStep(cleaned *leasehold.Cleaned, expiries bool) (*batch, bool, error) {
	if err := e.lockReady(); err != nil {
		return nil, false, err
	}
	defer e.mu.Unlock()
	now := e.clock.now()
	more := false
	var step leasehold.Cleaned
	if expiries {
		var due int
		due, more = e.expire(now)
		lapsed := e.expireLapsed(now)
		step.Expired = due + lapsed
		more = more || lapsed == stepSize
	}
	step.Forgotten = e.forgetOld(now, stepSize)
	cleaned.Expired += step.Expired
	cleaned.Forgotten += step.Forgotten
	e.batches.pending.cleaned.Expired += step.Expired
	e.batches.pending.cleaned.Forgotten += step.Forgotten
	return e.batches.latest(), more || step.Forgotten >= stepSize, nil
}

// LowOnSpace reports whether the disk is full and only leases and deletes have
// space left; see Spacer.
func (e *Engine) LowOnSpace() bool { return e.lowOnSpace() }
