package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/leasehold/leasehold/engine"
)

// ContainerPage is a page of a list of containers.
type ContainerPage struct {
	Containers []*Container
	Next       string // the marker of the next page; empty: this is the last
}

// ListContainers returns a page of the account's containers, names in byte
// order. Max out of 1 to MaxPage is MaxPage.
func (c *Catalog) ListContainers(ctx context.Context, account, prefix, marker string, max int) (ContainerPage, error) {
	at := place{name: prefix, snapshot: beforeAll}
	if marker != "" {
		from, err := readMarker(containerList, marker)
		if err != nil {
			return ContainerPage{}, err
		}
		if from.name >= prefix {
			at = from
		}
	}
	w := containerWalk{account: account, max: pageSize(max)}
	err := c.engine.Query(ctx, containersSQL, w.args(prefix, at), w.row)
	if err != nil && !errors.Is(err, errEnough) {
		return ContainerPage{}, err
	}
	return w.page, c.showContainerLeases(ctx, w.page.Containers)
}

const containersSQL = `SELECT id, name, ticks, details FROM blob_containers
	WHERE account = ? AND name >= ? AND name > ? AND name < ? AND NOT deleting ORDER BY name`

// containerWalk puts a page of containers together.
type containerWalk struct {
	account string
	max     int
	page    ContainerPage
}

func (w *containerWalk) args(prefix string, at place) []any {
	last := ""
	if at.snapshot != beforeAll {
		last = at.name
	}
	return []any{w.account, prefix, last, bound(prefix)}
}

func (w *containerWalk) row(r engine.Columns) error {
	found := w.page.Containers
	if len(found) == w.max {
		w.page.Next = place{name: found[w.max-1].Container}.marker(containerList)
		return errEnough
	}
	k := &Container{Ref: Ref{Account: w.account, Container: r.Text(1)}, id: r.Int64(0), Ticks: Ticks(r.Int64(2))}
	if err := json.Unmarshal(r.Bytes(3), &k.ContainerDetails); err != nil {
		return fmt.Errorf("container %s: %w", k.path(), err)
	}
	w.page.Containers = append(found, k)
	return nil
}

func (c *Catalog) showContainerLeases(ctx context.Context, found []*Container) error {
	if len(found) == 0 {
		return nil
	}
	names := make([]string, len(found))
	for i, k := range found {
		names[i] = k.Resource()
	}
	return c.engine.Look(ctx, names, func(i int, v engine.View) { found[i].Lease = viewOf(v) })
}
