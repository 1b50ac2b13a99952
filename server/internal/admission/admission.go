// Package admission limits how many requests of one kind run at the same time: in
// all, and of each caller.
package admission

import "sync"

// Limit counts requests and admits no more than its limits. Make it with New.
type Limit struct {
	max, maxPerCaller int

	mu       sync.Mutex
	total    int
	byCaller map[string]int
}

// New returns a limit of so many in all, and of one caller.
func New(max, maxPerCaller int) *Limit {
	return &Limit{max: max, maxPerCaller: maxPerCaller, byCaller: map[string]int{}}
}

// Enter reports whether one more is admitted. Each that is calls Exit.
func (l *Limit) Enter(caller string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.total >= l.max || l.byCaller[caller] >= l.maxPerCaller {
		return false
	}
	l.total++
	l.byCaller[caller]++
	return true
}

// Exit ends one that was admitted.
func (l *Limit) Exit(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.byCaller[caller]--; l.byCaller[caller] == 0 {
		delete(l.byCaller, caller)
	}
}

// Size returns how many are admitted now.
func (l *Limit) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
