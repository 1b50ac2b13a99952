package catalog

import (
	"context"
	"sync"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// blob is a blob or a snapshot as it stands, under its lock. A container that is
// read is one too, without an item.
type blob struct {
	*Catalog
	ref       Ref
	container *Container
	item      *Item // the base blob, or the snapshot that ref names; nil: there is none

	containerLock, lock heldLock
}

// lockBlob returns a blob while nobody else reads or changes it, its snapshots
// or its blocks, until unlock.
func (c *Catalog) lockBlob(ctx context.Context, ref Ref) (*blob, error) {
	return c.loadBlob(ctx, ref, true)
}

// lockExisting is lockBlob for a blob or snapshot that exists.
func (c *Catalog) lockExisting(ctx context.Context, ref Ref) (*blob, error) {
	b, err := c.lockBlob(ctx, ref)
	if err == nil && !b.exists() {
		b.unlock()
		return nil, azerr.New(azerr.BlobNotFound)
	}
	return b, err
}

// shareBlob returns a blob while others may read it and add to it too, but
// nobody changes it: for added rows that conflict with no others.
func (c *Catalog) shareBlob(ctx context.Context, ref Ref) (*blob, error) {
	return c.loadBlob(ctx, ref, false)
}

func (c *Catalog) loadBlob(ctx context.Context, ref Ref, alone bool) (*blob, error) {
	path, name := ref.paths()
	b := &blob{Catalog: c, ref: ref, containerLock: c.containerLocks.share(name)}
	var err error
	if b.container, err = c.loadContainer(ctx, ref, name); err == nil {
		b.lock = c.lockPath(path, alone)
		b.item, err = c.loadItem(ctx, b.container, ref)
	}
	if err != nil {
		b.unlock()
		return nil, err
	}
	return b, nil
}

// lockPath locks a blob, alone or shared. A caller that has it alone may change it,
// so the cache forgets it; until the unlock nobody can put it back.
func (c *Catalog) lockPath(path string, alone bool) heldLock {
	if !alone {
		return c.blobLocks.share(path)
	}
	held := c.blobLocks.lock(path)
	c.items.forget(path)
	return held
}

// readBlob returns a container, or a blob that exists, while nobody changes it.
// It skips SQL where it can, so the caller must not change the item.
func (c *Catalog) readBlob(ctx context.Context, ref Ref) (b blob, err error) {
	path, name := ref.paths()
	b = blob{Catalog: c, ref: ref, containerLock: c.containerLocks.share(name)}
	b.container, err = c.loadContainer(ctx, ref, name)
	if err == nil && ref.Blob != "" {
		b.lock = c.blobLocks.share(path)
		b.item, err = c.cachedItem(ctx, b.container, ref, path)
	}
	if err != nil {
		b.unlock()
	}
	return b, err
}

func (b *blob) unlock() {
	b.lock.unlock()
	b.containerLock.unlock()
}

// exists reports whether there is a blob, of more than uncommitted blocks.
func (b *blob) exists() bool { return b.item != nil && b.item.Committed }

// ticks of the container or blob as it stands; zero: there is none.
func (b *blob) ticks() Ticks {
	switch {
	case b.ref.Blob == "":
		return b.container.Ticks
	case !b.exists():
		return 0
	}
	return b.item.Ticks
}

// now is the moment of a change: later than the last one.
func (b *blob) now() Ticks {
	if b.item == nil {
		return b.clock.after(0)
	}
	return b.clock.after(b.item.Ticks)
}

// check says whether the conditions hold.
func (b *blob) check(c Conditions) error {
	if b.ref.Blob == "" {
		return c.check(b.container.Ticks)
	}
	return c.checkItem(b.item)
}

// checkCreate is check for what makes a blob.
func (b *blob) checkCreate(c Conditions) error {
	err := b.check(c)
	if err == errExists { //nolint:errorlint // one value, compared as NotModified does
		return azerr.New(azerr.BlobAlreadyExists)
	}
	return err
}

// change is what a writer with this access commits. A snapshot has no lease: an
// id is a condition on its base's.
func (b *blob) change(a Access, problem error, rows ...engine.Statement) change {
	how := machine.Write
	if b.ref.IsSnapshot() {
		how = machine.Read
	}
	return change{resource: b.ref.base().Resource(), lease: guard(b.ref, a, how), problem: problem, rows: rows}
}

// dropBlocks deletes the blob's uncommitted blocks, if there are any.
func (b *blob) dropBlocks() []engine.Statement {
	if b.item == nil || !b.item.staged { // staging the first one makes an item
		return nil
	}
	return dropBlocks(b.container.id, b.ref.Blob)
}

// locks are read-write locks by name. One exists only while somebody has it or
// waits for it.
type locks struct {
	mu    sync.Mutex
	named map[string]*namedLock
}

type namedLock struct {
	sync.RWMutex
	name  string
	users int
}

// heldLock is a lock that somebody has. Its zero value is none.
type heldLock struct {
	of     *locks
	lock   *namedLock
	shared bool
}

// lock excludes everybody else.
func (l *locks) lock(name string) heldLock {
	k := l.get(name)
	k.Lock()
	return heldLock{of: l, lock: k}
}

// share excludes those who lock, and nobody who shares.
func (l *locks) share(name string) heldLock {
	k := l.get(name)
	k.RLock()
	return heldLock{of: l, lock: k, shared: true}
}

func (l *locks) get(name string) *namedLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.named[name]
	if k == nil {
		if l.named == nil {
			l.named = map[string]*namedLock{}
		}
		k = &namedLock{name: name}
		l.named[name] = k
	}
	k.users++
	return k
}

func (h heldLock) unlock() {
	if h.of == nil {
		return
	}
	if h.shared {
		h.lock.RUnlock()
	} else {
		h.lock.Unlock()
	}
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	if h.lock.users--; h.lock.users == 0 {
		delete(h.of.named, h.lock.name)
	}
}
