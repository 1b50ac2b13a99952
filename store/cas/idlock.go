package cas

import (
	"context"
	"sync"

	"github.com/leasehold/leasehold"
)

// idLocks lets one operation at a time work with a proposed id: two that propose
// the same one for different resources must see each other.
type idLocks struct {
	mu    sync.Mutex
	locks map[leasehold.ID]*idLock
}

type idLock struct {
	users int
	held  chan struct{} // of one
}

// lock waits until the id is free, and returns the function that frees it. The
// zero ID is always free.
func (l *idLocks) lock(ctx context.Context, id leasehold.ID) (unlock func(), err error) {
	if id.IsZero() {
		return func() {}, nil
	}
	mine := l.use(id)
	select {
	case mine.held <- struct{}{}:
		return func() { <-mine.held; l.drop(id, mine) }, nil
	case <-ctx.Done():
		l.drop(id, mine)
		return nil, context.Cause(ctx)
	}
}

func (l *idLocks) use(id leasehold.ID) *idLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks == nil {
		l.locks = map[leasehold.ID]*idLock{}
	}
	mine := l.locks[id]
	if mine == nil {
		mine = &idLock{held: make(chan struct{}, 1)}
		l.locks[id] = mine
	}
	mine.users++
	return mine
}

func (l *idLocks) drop(id leasehold.ID, mine *idLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(l.locks, id)
	}
}
