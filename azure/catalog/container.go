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
// A row changes only while the container is locked alone.
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

// loadContainer returns the row of the container with this path; its lock is
// held. Nobody may change what it returns.
func (c *Catalog) loadContainer(ctx context.Context, ref Ref, path string) (*Container, error) {
	if row := c.containers.get(path); row != nil {
		return row, nil
	}
	row := &Container{Ref: ref.container()}
	var bad error
	found, err := c.queryOne(ctx, sqlContainer, []any{ref.Account, ref.Container}, func(r engine.Columns) {
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
	c.containers.put(path, row)
	return row, nil
}

// Container returns a container.
func (c *Catalog) Container(ctx context.Context, ref Ref, a Access) (*Container, error) {
	b, err := c.readBlob(ctx, ref.container())
	if err != nil {
		return nil, err
	}
	defer b.unlock()
	shown := *b.container
	if shown.Lease, err = c.checkRead(ctx, shown.Ref, a, shown.Ticks); err != nil {
		return nil, err
	}
	return &shown, nil
}

// CreateContainer makes a container.
func (c *Catalog) CreateContainer(ctx context.Context, ref Ref, d ContainerDetails) (*Container, error) {
	ref = ref.container()
	if err := CheckContainer(ref.Container); err != nil {
		return nil, err
	}
	if err := c.checkSpace(); err != nil {
		return nil, err
	}
	defer c.containerLocks.lock(ref.path()).unlock()
	if _, err := c.loadContainer(ctx, ref, ref.path()); err == nil {
		return nil, azerr.New(azerr.ContainerAlreadyExists)
	} else if !azerr.HasCode(err, azerr.ContainerNotFound) {
		return nil, err
	}
	if err := c.finishDeletion(ctx, ref); err != nil {
		return nil, err
	}
	// No container had the number since the start, so what the caches know of an
	// earlier container of that name does not match.
	row := &Container{Ref: ref, Ticks: c.clock.after(0), ContainerDetails: d, id: c.containerIDs.Add(1)}
	add := statement(sqlAddContainer, row.id, ref.Account, ref.Container, int64(row.Ticks), encode(d))
	if err := c.commit(ctx, change{resource: ref.Resource(), forget: true, rows: []engine.Statement{add}}); err != nil {
		return nil, err
	}
	return row, nil
}

// SetContainer changes the container's metadata, access or policies. Edit gets a
// copy to work on. A lease id is a condition here, no more.
func (c *Catalog) SetContainer(ctx context.Context, ref Ref, a Access, edit func(*ContainerDetails)) (*Container, error) {
	ref = ref.container()
	defer c.containerLocks.lock(ref.path()).unlock()
	old, err := c.loadContainer(ctx, ref, ref.path())
	if err != nil {
		return nil, err
	}
	row := *old
	edit(&row.ContainerDetails)
	row.Ticks = c.clock.after(old.Ticks)
	c.containers.forget(ref.path()) // whatever comes of it, the next one reads it anew
	set := statement(sqlSetContainer, int64(row.Ticks), encode(row.ContainerDetails), row.id)
	err = c.commit(ctx, change{
		resource: ref.Resource(), lease: guard(ref, a, machine.Read), problem: a.If.check(old.Ticks), rows: []engine.Statement{set},
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
	defer c.containerLocks.lock(ref.path()).unlock()
	row, err := c.loadContainer(ctx, ref, ref.path())
	if err != nil {
		return err
	}
	return c.deleteContainer(ctx, row, guard(ref, a, machine.Write), a.If.check(row.Ticks))
}

// deleteContainer deletes a container unless its lease or a problem refuses; its
// lock is held.
func (c *Catalog) deleteContainer(ctx context.Context, row *Container, rule leaseRule, problem error) error {
	c.containers.forget(row.path())
	mark := statement(sqlMarkContainerDeleting, row.id)
	err := c.commit(ctx, change{resource: row.Resource(), lease: rule, problem: problem, forget: true, rows: []engine.Statement{mark}})
	if err != nil {
		return err
	}
	return c.empty(context.WithoutCancel(ctx), row.Ref, row.id)
}

// finishDeletion empties the container if its deletion failed half-way; its lock
// is held. Until then the name cannot be used again.
func (c *Catalog) finishDeletion(ctx context.Context, ref Ref) error {
	var id int64
	found, err := c.queryOne(ctx, sqlDeletingContainer, []any{ref.Account, ref.Container}, func(r engine.Columns) { id = r.Int64(0) })
	if err != nil || !found {
		return err
	}
	return c.empty(context.WithoutCancel(ctx), ref, id)
}

// finishDeletions empties containers whose deletion was cut short.
func (c *Catalog) finishDeletions(ctx context.Context) error {
	var left []Container
	err := c.engine.Query(ctx, sqlDeletingContainers, nil, func(r engine.Columns) error {
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

// emptyBatch is how many blobs are deleted in one commit.
const emptyBatch = 2000

// empty deletes what was in a container, and at last its row. Leases go first:
// while the row is there, this starts again after a crash.
func (c *Catalog) empty(ctx context.Context, ref Ref, id int64) error {
	leased, err := c.engine.Names(ctx, ref.Resource()+"/")
	if err != nil {
		return err
	}
	for some := range slices.Chunk(leased, forgetBatch) {
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

// forgetBatch is how many leases are forgotten side by side, so that they share
// commits.
const forgetBatch = 256

func (c *Catalog) forgetLeases(ctx context.Context, resources []string) error {
	failed := make(chan error, len(resources))
	for _, resource := range resources {
		go func() {
			failed <- c.commit(ctx, change{resource: resource, forget: true})
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
	left, err = c.queryOne(ctx, sqlAnyItem, []any{id}, func(engine.Columns) {})
	if err != nil {
		return false, err
	}
	rows := []engine.Statement{
		statement(sqlUnrefContainerBlocks, id),
		statement(sqlDeleteContainerBlocks, id),
		statement(sqlDeleteContainerTags, id),
		statement(sqlDeleteContainer, id),
	}
	if left {
		rows = []engine.Statement{
			statement(sqlDropSomeItems, id, int64(emptyBatch)),
			statement(sqlDeleteSomeItems, id, int64(emptyBatch)),
		}
	}
	return left, c.commit(ctx, change{resource: ref.Resource(), rows: rows})
}
