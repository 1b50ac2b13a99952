package api

import (
	"context"
	"runtime"
	"sync"
	"time"
)

const (
	// flushEvery is how soon a stream may be written to again. What happens in
	// between is written together.
	flushEvery = 10 * time.Millisecond
	// flushMost is how many bytes are written to a stream at a time.
	flushMost = 64 << 10

	// flushCost and byteCost are what a flush takes of a processor, about, here
	// and in the system.
	flushCost = 20 * time.Microsecond
	byteCost  = time.Nanosecond
	// streamShare is how much of the processors all streams may take together.
	streamShare = 0.1
	// streamBurst is how much of it may be used at once after a quiet time.
	streamBurst = 50 * time.Millisecond
)

// pace shares a bounded part of the processors among the event streams, so that
// grants have the rest, however many streams there are. A stream that has to
// wait finds more to write afterwards, or that it has fallen behind.
type pace struct {
	mu   sync.Mutex
	free time.Time // when everything written so far is paid for
}

// wrote pays for a flush of n bytes, and returns when the next may come.
func (p *pace) wrote(n int) time.Time {
	cost := flushCost + time.Duration(n)*byteCost
	cost = time.Duration(float64(cost) / (streamShare * float64(runtime.GOMAXPROCS(0))))
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-streamBurst); p.free.Before(earliest) {
		p.free = earliest
	}
	p.free = p.free.Add(cost)
	if soonest := now.Add(flushEvery); p.free.Before(soonest) {
		return soonest
	}
	return p.free
}

// sleepUntil waits for t, and reports whether the context still lives.
func sleepUntil(ctx context.Context, t time.Time) bool {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
