package azblob

import (
	"context"
	"sync"
)

// locks let one operation at a time change a resource in this process. They save
// calls that would lose a race; exclusion is the service's.
type locks struct {
	mu  sync.Mutex
	all map[string]*lock
}

type lock struct {
	held  chan struct{} // of one
	users int
}

// acquire waits for the resource's turn, or returns the context's cause.
func (l *locks) acquire(ctx context.Context, resource string) (unlock func(), err error) {
	one := l.join(resource)
	select {
	case one.held <- struct{}{}:
		return func() {
			<-one.held
			l.drop(resource, one)
		}, nil
	case <-ctx.Done():
		l.drop(resource, one)
		return nil, context.Cause(ctx)
	}
}

func (l *locks) join(resource string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*lock{}
	}
	one := l.all[resource]
	if one == nil {
		one = &lock{held: make(chan struct{}, 1)}
		l.all[resource] = one
	}
	one.users++
	return one
}

func (l *locks) drop(resource string, one *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(l.all, resource)
	}
}
