package catalog

import (
	"context"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// subject is what a request is about: a container, or a blob in it. Others may
// share it, so nobody changes it.
type subject struct {
	container *Container
	item      *Item // nil: there is no such blob
	ticks     Ticks // of the blob, or of the container if ref names no blob
}

// judge asks the conditions.
func (s subject) judge(c Conditions) error {
	if s.item != nil {
		return c.judgeItem(s.item)
	}
	return c.judge(s.ticks)
}

// shared calls use with a container, or with a blob that exists, and keeps
// others from changing it meanwhile.
func (c *Catalog) shared(ctx context.Context, ref Ref, use func(subject) error) error {
	path := ref.path()
	box := path[:len(ref.Account)+1+len(ref.Container)]
	defer c.containerLocks.share(box)()
	row, err := c.containerAt(ctx, ref, box)
	if err != nil {
		return err
	}
	if ref.Blob == "" {
		return use(subject{container: row, ticks: row.Ticks})
	}
	defer c.blobLocks.share(path)()
	item, err := c.committed(ctx, row, ref, path)
	if err != nil {
		return err
	}
	return use(subject{container: row, item: item, ticks: item.Ticks})
}

// committed returns a blob or snapshot that exists, and has that path; the blob's
// lock is held. Nobody may change what it returns.
func (c *Catalog) committed(ctx context.Context, container *Container, ref Ref, path string) (*Item, error) {
	if known := c.items.get(path, container.id); known != nil && !ref.IsSnapshot() {
		return known, nil
	}
	item, err := c.item(ctx, container, ref)
	switch {
	case err != nil:
		return nil, err
	case item == nil || !item.Committed:
		return nil, azerr.New(azerr.BlobNotFound)
	case !ref.IsSnapshot():
		c.items.put(path, container.id, item)
	}
	return item, nil
}

// edit is one change to a blob under way. Its lock is held.
type edit struct {
	*Catalog
	ref       Ref
	container *Container
	item      *Item // the base blob as it stands, or the snapshot that ref names; nil: there is none
}

// edit calls change while nobody else reads or changes the blob or its
// snapshots.
func (c *Catalog) edit(ctx context.Context, ref Ref, change func(*edit) error) error {
	return c.enter(ctx, ref, c.lockBlob, change)
}

// join calls add while others may read the blob and add to it too, but nobody
// changes it: for rows that stand in nobody's way.
func (c *Catalog) join(ctx context.Context, ref Ref, add func(*edit) error) error {
	return c.enter(ctx, ref, c.blobLocks.share, add)
}

func (c *Catalog) enter(ctx context.Context, ref Ref, lock func(string) func(), change func(*edit) error) error {
	defer c.containerLocks.share(ref.container().path())()
	row, err := c.container(ctx, ref)
	if err != nil {
		return err
	}
	defer lock(ref.path())()
	item, err := c.item(ctx, row, ref)
	if err != nil {
		return err
	}
	return change(&edit{Catalog: c, ref: ref, container: row, item: item})
}

// exists reports whether there is a blob, of more than uncommitted blocks.
func (e *edit) exists() bool { return e.item != nil && e.item.Committed }

// ticks of the blob as it stands; zero: there is none.
func (e *edit) ticks() Ticks {
	if !e.exists() {
		return 0
	}
	return e.item.Ticks
}

// now is the moment of a change: later than the last one.
func (e *edit) now() Ticks {
	if e.item == nil {
		return e.clock.after(0)
	}
	return e.clock.after(e.item.Ticks)
}

// commit makes statements durable if the lease and the conditions allow it, in
// this order, as one atomic step.
func (e *edit) commit(ctx context.Context, a Access, statements ...engine.Statement) error {
	return e.decide(ctx, a, engine.Decision{Extras: statements})
}

// decide is commit for a decision that may also forget the lease.
func (e *edit) decide(ctx context.Context, a Access, d engine.Decision) error {
	return e.decideIf(ctx, a, func() error { return e.judge(a) }, d)
}

// decideIf is decide with a judgement of the caller's own.
func (e *edit) decideIf(ctx context.Context, a Access, judge func() error, d engine.Decision) error {
	how := machine.Write
	if e.ref.IsSnapshot() {
		how = machine.Read // it has no lease: an id is a condition on its base's
	}
	return e.decideAs(ctx, a, how, judge, d)
}

// decideAs is decideIf for an access that may be a reader's.
func (e *edit) decideAs(ctx context.Context, a Access, how machine.Access, judge func() error, d engine.Decision) error {
	err := e.do(ctx, e.ref.base().Resource(), func(v engine.View) (engine.Decision, error) {
		o, err := a.guard(v, e.ref, how)
		if err == nil {
			err = judge()
		}
		if err != nil {
			return engine.Decision{}, err
		}
		d.Outcome = o
		return d, nil
	})
	if err == nil && e.wake != nil {
		e.wake()
	}
	return err
}

// do is the engine's Do for whoever holds a lock: it waits for the commit even
// if the caller has gone meanwhile, because until then rows that are read are
// not those that will be.
func (c *Catalog) do(ctx context.Context, resource string, decide func(engine.View) (engine.Decision, error)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.engine.Do(context.WithoutCancel(ctx), resource, decide)
}

// nextManifest gives out a number for a new manifest.
func (c *Catalog) nextManifest() int64 { return c.manifests.Add(1) }
