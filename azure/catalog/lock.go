package catalog

import "sync"

// locks are read-write locks by name. One exists only while somebody has it or
// waits for it.
type locks struct {
	mu   sync.Mutex
	held map[string]*lock
}

type lock struct {
	sync.RWMutex
	users int
}

// lock takes the name's lock for itself alone.
func (l *locks) lock(name string) (unlock func()) {
	k := l.get(name)
	k.Lock()
	return func() { k.Unlock(); l.put(name, k) }
}

// share takes the name's lock together with others who share it.
func (l *locks) share(name string) (unlock func()) {
	k := l.get(name)
	k.RLock()
	return func() { k.RUnlock(); l.put(name, k) }
}

func (l *locks) get(name string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[name]
	if k == nil {
		if l.held == nil {
			l.held = map[string]*lock{}
		}
		k = new(lock)
		l.held[name] = k
	}
	k.users++
	return k
}

func (l *locks) put(name string, k *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, name)
	}
}
