package catalog

import "sync"

// idLengths keeps the ids of a blob's uncommitted blocks to one length while
// several callers stage blocks of it: what one of them is committing, the others
// cannot read yet. An entry lives while somebody stages, so it needs no bound.
type idLengths struct {
	mu    sync.Mutex
	blobs map[string]*idLength // by path
}

type idLength struct {
	stagers int
	length  int // of the ids that were let pass; zero: none was yet
}

// join counts a caller who stages a block of the blob; its lock is held, shared.
// The caller reads the blocks that there are afterwards. Pass then reports
// whether an id of that length goes with those that others are committing.
func (l *idLengths) join(path string) (pass func(length int) bool, leave func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.blobs == nil {
		l.blobs = map[string]*idLength{}
	}
	own := l.blobs[path]
	if own == nil {
		own = &idLength{}
		l.blobs[path] = own
	}
	own.stagers++
	pass = func(length int) bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.length == 0 {
			own.length = length
		}
		return own.length == length
	}
	leave = func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.stagers--; own.stagers == 0 {
			delete(l.blobs, path)
		}
	}
	return pass, leave
}
