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
	flushEvery = 20 * time.Millisecond
	// flushMost is how many bytes are written to a stream at a time, about.
	flushMost = 64 << 10
	// longestTurn is how long a write keeps others from theirs. One that takes
	// longer waits for its client, and others go on meanwhile.
	longestTurn = time.Millisecond

	// streamShare is how much of the processors the turns may take together.
	streamShare = 0.1
	// streamBurst is how much of that may be used at once after a quiet time.
	streamBurst = 20 * time.Millisecond
)

// pace keeps event streams from the processors that grants need, however many
// streams there are: only a few are written to at a time, and all together take
// a bounded share of the time. A stream that waits for its turn finds more to
// write then, or that it has fallen behind.
type pace struct {
	turns chan struct{} // has as many as may be taken

	mu   sync.Mutex
	free time.Time // when all turns so far are paid for
}

func newPace() *pace {
	p := &pace{turns: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/4))}
	for range cap(p.turns) {
		p.turns <- struct{}{}
	}
	return p
}

// turn waits until it may write, and does.
func (p *pace) turn(ctx context.Context, write func() error) error {
	select {
	case <-p.turns:
	case <-ctx.Done():
		return ctx.Err()
	}
	began := time.Now()
	giveBack := sync.OnceFunc(func() { p.giveBack(time.Since(began)) })
	stuck := time.AfterFunc(longestTurn, giveBack)
	defer func() {
		stuck.Stop()
		giveBack()
	}()
	return write()
}

// giveBack lets the next one have its turn, as soon as this one is paid for.
func (p *pace) giveBack(took time.Duration) {
	if rest := p.pay(min(took, longestTurn)); rest > 0 {
		time.AfterFunc(rest, func() { p.turns <- struct{}{} })
	} else {
		p.turns <- struct{}{}
	}
}

// pay returns how long to rest after a turn.
func (p *pace) pay(took time.Duration) time.Duration {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if earliest := now.Add(-streamBurst); p.free.Before(earliest) {
		p.free = earliest
	}
	p.free = p.free.Add(time.Duration(float64(took) / (streamShare * float64(runtime.GOMAXPROCS(0)))))
	return p.free.Sub(now)
}
