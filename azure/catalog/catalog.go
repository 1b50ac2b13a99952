// Package catalog keeps containers, blobs and snapshots: their rows in tables
// of their own in the engine's database, their bytes in package content.
//
// An operation reads: check the request, load the rows under the blob's lock
// (lockBlob, shareBlob or readBlob), decide what to write, commit it. A change
// goes through the engine, so the check of a lease and the write that it guards
// are one atomic step, durable before the operation returns. Nothing here knows
// HTTP. What Azure has a code for comes back as a *azerr.Error; what a lease
// forbids comes back as a *LeaseError, because the two APIs name it
// differently.
//
// Three rules keep content safe without a lock over everything:
//
//   - Who changes a blob, its snapshots or its blocks holds the blob's lock from
//     reading the rows until the commit is durable. Who starts to read content
//     shares it until the manifest is pinned; who stages a block or makes a
//     snapshot shares it until that is durable: such rows conflict with no
//     others, and many of them share a commit.
//   - Only a blob and its snapshots share a manifest, so its lock covers it. A
//     copy holds both locks, and has pieces of its own that share the chunks.
//   - A manifest that an item no longer has is noted in the same commit, and
//     collected later, when no item has it and nobody reads it.
//
// SQL stands in sql/, a file for each statement. A trap in it: SQLite plans a
// statement anew whenever a bound LIMIT changes, which costs more than running
// it. "LIMIT ? + 0" is planned once.
package catalog

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
)

var (
	//go:embed schema/0001_blobs.sql
	blobsSchema string
	//go:embed schema/0002_referrers.sql
	referrersSchema string
)

// Module is the catalog's claim on the engine's database; the store is opened
// with it.
func Module() engine.Module {
	return engine.Module{Name: "blob", Migrations: []engine.Migration{
		{Name: "blobs", SQL: blobsSchema}, {Name: "referrers", SQL: referrersSchema},
	}}
}

// Options of a catalog. Nil is fine.
type Options struct {
	// SnapshotTTL is how long a new snapshot stays. Default: for ever.
	SnapshotTTL time.Duration

	// Idle: nothing runs in the background, so that what is there can be looked
	// at as it is. Default: leftovers are collected, snapshots and uncommitted
	// blocks expire.
	Idle bool

	// Logger gets trouble in the background. Default: nobody does.
	Logger *slog.Logger
}

// Catalog keeps containers and blobs. Its methods may be called from any number
// of goroutines.
type Catalog struct {
	engine  engine.Engine
	content *content.Store
	o       Options
	clock   clock

	containerLocks locks // by account and container; first
	blobLocks      locks // by account, container and blob; second
	containers     containerCache
	items          itemCache
	callers        callers
	manifests      atomic.Int64 // the last one given out
	containerIDs   atomic.Int64 // the last one given out
	pins           pins
	blockCounts    blockCounts
	idLengths      idLengths
	collecting     sync.Mutex // held from deleting the rows of chunks until their files are gone

	nextPurge time.Time // of uncommitted blocks; the collector's own

	wake func() // wakes the collector
	stop func() // stops what runs in the background
	done sync.WaitGroup
}

// Open makes a catalog of what the engine's database and the content store
// hold. The store was opened with Module. Close stops what runs in the
// background; engine and content store stay open.
func Open(ctx context.Context, engine engine.Engine, bytes *content.Store, o *Options) (*Catalog, error) {
	c := &Catalog{engine: engine, content: bytes}
	if o != nil {
		c.o = *o
	}
	if c.o.Logger == nil {
		c.o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.loadNumbers(ctx); err != nil {
		return nil, err
	}
	c.wake = func() {}
	if err := c.finishDeletions(ctx); err != nil {
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	c.stop = cancel
	if !c.o.Idle {
		c.wake = c.collectInBackground(background)
	}
	return c, nil
}

// Close stops what runs in the background and waits for it.
func (c *Catalog) Close() error {
	c.stop()
	c.done.Wait()
	return nil
}

// loadNumbers reads which numbers are in use.
func (c *Catalog) loadNumbers(ctx context.Context) error {
	var chunk, manifest, container int64
	err := c.engine.Query(ctx, sqlLastNumbers, nil, func(row engine.Columns) error {
		chunk, manifest, container = row.Int64(0), row.Int64(1), row.Int64(2)
		return nil
	})
	if err != nil {
		return fmt.Errorf("blob catalog: %w", err)
	}
	c.content.Reserve(chunk)
	c.manifests.Store(manifest)
	c.containerIDs.Store(container)
	return nil
}

// queryOne runs a query that answers at most one row. It reports whether it did.
func (c *Catalog) queryOne(ctx context.Context, sql string, args []any, scan func(engine.Columns)) (found bool, _ error) {
	err := c.engine.Query(ctx, sql, args, func(row engine.Columns) error {
		scan(row)
		found = true
		return errEnough
	})
	if err != nil && !errors.Is(err, errEnough) {
		return false, err
	}
	return found, nil
}

var errEnough = errors.New("enough rows")

// ServiceProperties returns the account's service properties as they were set,
// or nil if they never were.
func (c *Catalog) ServiceProperties(ctx context.Context, account string) ([]byte, error) {
	var properties []byte
	_, err := c.queryOne(ctx, sqlServiceProperties, []any{account}, func(r engine.Columns) { properties = r.Bytes(0) })
	return properties, err
}

// SetServiceProperties keeps the account's service properties, as JSON that
// only the caller understands.
func (c *Catalog) SetServiceProperties(ctx context.Context, account string, json []byte) error {
	set := statement(sqlPutServiceProperties, account, json)
	return c.commit(ctx, change{resource: resourcePrefix + account, rows: []engine.Statement{set}})
}

// Reset deletes everything of an account, or of every one if account is empty,
// leased or not: containers, blobs, service properties, and the bytes of all
// that nobody is reading. What is made while it runs may stay.
func (c *Catalog) Reset(ctx context.Context, account string) error {
	var all []Ref
	err := c.engine.Query(ctx, sqlContainersOfAccount, []any{account}, func(r engine.Columns) error {
		all = append(all, Ref{Account: r.Text(0), Container: r.Text(1)})
		return nil
	})
	if err != nil {
		return err
	}
	for _, ref := range all {
		if err := c.resetContainer(ctx, ref); err != nil {
			return err
		}
	}
	if err := c.commitRows(ctx, statement(sqlDeleteServiceProperties, account)); err != nil {
		return err
	}
	return c.collect(ctx)
}

// resetContainer deletes a container whatever its lease says.
func (c *Catalog) resetContainer(ctx context.Context, ref Ref) error {
	defer c.containerLocks.lock(ref.path()).unlock()
	row, err := c.loadContainer(ctx, ref, ref.path())
	switch {
	case azerr.HasCode(err, azerr.ContainerNotFound):
		return c.finishDeletion(ctx, ref)
	case err != nil:
		return err
	}
	return c.deleteContainer(ctx, row, nil, nil)
}
