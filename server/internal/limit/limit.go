// Package limit bounds how many requests of one kind are under way, in all and of
// each caller.
package limit

import "sync"

// Callers counts requests of one kind, in all and of each caller, and admits no more
// than its limits. Make it with New.
type Callers struct {
	max, maxPerCaller int

	mu       sync.Mutex
	total    int
	byCaller map[string]int
}

// New returns a limit of max requests, and of maxPerCaller of one caller.
func New(max, maxPerCaller int) *Callers {
	return &Callers{max: max, maxPerCaller: maxPerCaller, byCaller: map[string]int{}}
}

// Enter reports whether one more is admitted. Each that is calls Exit.
func (l *Callers) Enter(caller string) bool {
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
func (l *Callers) Exit(caller string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.byCaller[caller]--; l.byCaller[caller] == 0 {
		delete(l.byCaller, caller)
	}
}

// Size returns how many are under way.
func (l *Callers) Size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}
