package api

import "sync"

// callerLimit counts requests of one kind, in all and of each caller, and admits
// no more than its limits.
type callerLimit struct {
	max, maxPerCaller int

	mu       sync.Mutex
	total    int
	byCaller map[string]int
}

func newCallerLimit(max, maxPerCaller int) *callerLimit {
	return &callerLimit{max: max, maxPerCaller: maxPerCaller, byCaller: map[string]int{}}
}

// enter reports whether one more is admitted. Each that is calls exit.
func (l *callerLimit) enter(caller string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.max || l.byCaller[caller] >= l.maxPerCaller {
		return false
	}
	l.total++
	l.byCaller[caller]++
	return true
}

func (l *callerLimit) exit(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.byCaller[caller]--; l.byCaller[caller] == 0 {
		delete(l.byCaller, caller)
	}
}

func (l *callerLimit) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
