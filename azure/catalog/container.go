package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// containerCache keeps the rows of containers, because every request needs one.
// A row changes only under the container's lock, by whoever has it alone.
type containerCache struct {
	mu    sync.Mutex
	known map[string]*Container
}

// maxKnownContainers bounds the cache. Beyond it, all is forgotten.
const maxKnownContainers = 10_000

func (k *containerCache) get(path string) *Container {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[path]
}

func (k *containerCache) put(path string, row *Container) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil || len(k.known) >= maxKnownContainers {
		k.known = map[string]*Container{}
	}
	k.known[path] = row
}

func (k *containerCache) forget(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, path)
}

// container returns the container's row; its lock is held. Nobody may change
// what it returns.
func (c *Catalog) container(ctx context.Context, ref Ref) (*Container, error) {
	return c.containerAt(ctx, ref, ref.container().path())
}

// containerAt is container for whoever has the path already.
func (c *Catalog) containerAt(ctx context.Context, ref Ref, path string) (*Container, error) {
	if row := c.containers.get(path); row != nil {
		return row, nil
	}
	row, err := c.readContainer(ctx, ref)
	if err == nil {
		c.containers.put(path, row)
	}
	return row, err
}

func (c *Catalog) readContainer(ctx context.Context, ref Ref) (*Container, error) {
	row := &Container{Ref: ref.container()}
	var bad error
	const sql = `SELECT id, ticks, details FROM blob_containers WHERE account = ? AND name = ? AND NOT deleting`
	found, err := c.one(ctx, sql, []any{ref.Account, ref.Container}, func(r engine.Columns) {
		row.id, row.Ticks = r.Int64(0), Ticks(r.Int64(1))
		bad = json.Unmarshal(r.Bytes(2), &row.ContainerDetails)
	})
	switch {
	case err != nil:
		return nil, err
	case bad != nil:
		return nil, fmt.Errorf("container %s: %w", ref.path(), bad)
	case !found:
		return nil, azerr.New(azerr.ContainerNotFound)
	}
	return row, nil
}

// Container returns a container.
func (c *Catalog) Container(ctx context.Context, ref Ref, a Access) (*Container, error) {
	ref = ref.container()
	defer c.containerLocks.share(ref.path())()
	row, err := c.container(ctx, ref)
	if err != nil {
		return nil, err
	}
	shown := *row
	if err := c.read(ctx, ref, a, row.Ticks, &shown.Lease); err != nil {
		return nil, err
	}
	return &shown, nil
}

// read lets a reader pass, or not, and shows the lease.
func (c *Catalog) read(ctx context.Context, ref Ref, a Access, t Ticks, view *LeaseView) error {
	var refusal error
	err := c.engine.Look(ctx, []string{ref.Resource()}, func(_ int, v engine.View) {
		*view = viewOf(v)
		if _, refusal = a.guard(v, ref, machine.Read); refusal == nil {
			refusal = a.If.judge(t)
		}
	})
	if err != nil {
		return err
	}
	return refusal
}

// CreateContainer makes a container.
func (c *Catalog) CreateContainer(ctx context.Context, ref Ref, d ContainerDetails) (*Container, error) {
	ref = ref.container()
	if err := CheckContainer(ref.Container); err != nil {
		return nil, err
	}
	if err := c.room(); err != nil {
		return nil, err
	}
	defer c.containerLocks.lock(ref.path())()
	if _, err := c.container(ctx, ref); err == nil {
		return nil, azerr.New(azerr.ContainerAlreadyExists)
	} else if !isFault(err, azerr.ContainerNotFound) {
		return nil, err
	}
	if err := c.finishDeletion(ctx, ref); err != nil {
		return nil, err
	}
	// The number is new since the start: what is remembered of an earlier
	// container of that name has another one.
	row := &Container{Ref: ref, Ticks: c.clock.after(0), ContainerDetails: d, id: c.containerIDs.Add(1)}
	const sql = `INSERT INTO blob_containers (id, account, name, ticks, details) VALUES (?, ?, ?, ?, ?)`
	err := c.do(ctx, ref.Resource(), func(engine.View) (engine.Decision, error) {
		return engine.Decision{Forget: true, Extras: []engine.Statement{do(sql, row.id, ref.Account, ref.Container, int64(row.Ticks), encode(d))}}, nil
	})
	if err != nil {
		return nil, err
	}
	return row, nil
}

// SetContainer changes the container's metadata, access or policies. Change
// gets a copy to work on.
func (c *Catalog) SetContainer(ctx context.Context, ref Ref, a Access, change func(*ContainerDetails)) (*Container, error) {
	ref = ref.container()
	defer c.containerLocks.lock(ref.path())()
	old, err := c.container(ctx, ref)
	if err != nil {
		return nil, err
	}
	row := *old
	change(&row.ContainerDetails)
	row.Ticks = c.clock.after(old.Ticks)
	c.containers.forget(ref.path()) // whatever comes of it, the next one reads it anew
	const sql = `UPDATE blob_containers SET ticks = ?, details = ? WHERE id = ?`
	err = c.do(ctx, ref.Resource(), func(v engine.View) (engine.Decision, error) {
		if _, err := a.guard(v, ref, machine.Read); err != nil { // an id is a condition here, no more
			return engine.Decision{}, err
		}
		if err := a.If.judge(old.Ticks); err != nil {
			return engine.Decision{}, err
		}
		return engine.Decision{Extras: []engine.Statement{do(sql, int64(row.Ticks), encode(row.ContainerDetails), row.id)}}, nil
	})
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// DeleteContainer deletes a container and all that is in it. It is gone for
// everybody with one commit; what was in it goes after that, before the answer,
// and if the program dies meanwhile, when it starts again.
func (c *Catalog) DeleteContainer(ctx context.Context, ref Ref, a Access) error {
	ref = ref.container()
	defer c.containerLocks.lock(ref.path())()
	row, err := c.container(ctx, ref)
	if err != nil {
		return err
	}
	return c.obliterate(ctx, ref, row, func(v engine.View) error {
		if _, err := a.guard(v, ref, machine.Write); err != nil {
			return err
		}
		return a.If.judge(row.Ticks)
	})
}

// obliterate deletes a container if allow does not mind; its lock is held.
func (c *Catalog) obliterate(ctx context.Context, ref Ref, row *Container, allow func(engine.View) error) error {
	c.containers.forget(ref.path())
	err := c.do(ctx, ref.Resource(), func(v engine.View) (engine.Decision, error) {
		if err := allow(v); err != nil {
			return engine.Decision{}, err
		}
		mark := do(`UPDATE blob_containers SET deleting = 1 WHERE id = ?`, row.id)
		return engine.Decision{Forget: true, Extras: []engine.Statement{mark}}, nil
	})
	if err != nil {
		return err
	}
	return c.empty(context.WithoutCancel(ctx), ref, row.id)
}

// finishDeletion empties a container whose deletion failed half-way, if that is
// so; its lock is held. Until then the name is taken.
func (c *Catalog) finishDeletion(ctx context.Context, ref Ref) error {
	var id int64
	const sql = `SELECT id FROM blob_containers WHERE account = ? AND name = ? AND deleting`
	found, err := c.one(ctx, sql, []any{ref.Account, ref.Container}, func(r engine.Columns) { id = r.Int64(0) })
	if err != nil || !found {
		return err
	}
	return c.empty(context.WithoutCancel(ctx), ref, id)
}

// finishDeletions empties containers whose deletion was cut short.
func (c *Catalog) finishDeletions(ctx context.Context) error {
	var left []Container
	const sql = `SELECT id, account, name FROM blob_containers WHERE deleting`
	err := c.engine.Query(ctx, sql, nil, func(r engine.Columns) error {
		left = append(left, Container{id: r.Int64(0), Ref: Ref{Account: r.Text(1), Container: r.Text(2)}})
		return nil
	})
	for _, row := range left {
		if err == nil {
			err = c.empty(ctx, row.Ref, row.id)
		}
	}
	return err
}

// emptyBite is how many blobs are deleted in one commit.
const emptyBite = 2000

// empty deletes what was in a container, and at last its row. Leases go first:
// while the row is there, this begins again after a crash.
func (c *Catalog) empty(ctx context.Context, ref Ref, id int64) error {
	leased, err := c.engine.Names(ctx, ref.Resource()+"/")
	if err != nil {
		return err
	}
	for some := range slices.Chunk(leased, forgetBite) {
		if err := c.forgetLeases(ctx, some); err != nil {
			return err
		}
	}
	for {
		left, err := c.emptyOnce(ctx, ref, id)
		if err != nil || !left {
			return err
		}
	}
}

// forgetBite is how many leases are forgotten side by side, so that they share
// commits.
const forgetBite = 256

func (c *Catalog) forgetLeases(ctx context.Context, resources []string) error {
	failed := make(chan error, len(resources))
	for _, resource := range resources {
		go func() {
			failed <- c.do(ctx, resource, func(engine.View) (engine.Decision, error) { return engine.Decision{Forget: true}, nil })
		}()
	}
	var err error
	for range resources {
		err = errors.Join(err, <-failed)
	}
	return err
}

// emptyOnce deletes some of the container's blobs, or its row after the last.
func (c *Catalog) emptyOnce(ctx context.Context, ref Ref, id int64) (left bool, err error) {
	left, err = c.one(ctx, `SELECT 1 FROM blob_items WHERE container = ? LIMIT 1`, []any{id}, func(engine.Columns) {})
	if err != nil {
		return false, err
	}
	statements := []engine.Statement{
		do(`UPDATE blob_chunks SET refs = refs - gone.n
			FROM (SELECT chunk, count(*) AS n FROM blob_blocks WHERE container = ? GROUP BY chunk) AS gone WHERE id = gone.chunk`, id),
		do(`DELETE FROM blob_blocks WHERE container = ?`, id),
		do(`DELETE FROM blob_tags WHERE container = ?`, id),
		do(`DELETE FROM blob_containers WHERE id = ?`, id),
	}
	if left {
		statements = []engine.Statement{
			do(`INSERT OR IGNORE INTO blob_dropped (manifest, container, name) SELECT manifest, container, name FROM blob_items
				WHERE container = ? AND manifest <> 0 ORDER BY container, name, snapshot LIMIT ? + 0`, id, int64(emptyBite)),
			do(`DELETE FROM blob_items WHERE (container, name, snapshot) IN
				(SELECT container, name, snapshot FROM blob_items WHERE container = ? ORDER BY container, name, snapshot LIMIT ? + 0)`, id, int64(emptyBite)),
		}
	}
	err = c.do(ctx, ref.Resource(), func(engine.View) (engine.Decision, error) {
		return engine.Decision{Extras: statements}, nil
	})
	if err == nil && c.wake != nil {
		c.wake()
	}
	return left, err
}
