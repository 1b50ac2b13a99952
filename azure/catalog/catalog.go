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

	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/engine"
)

var (
	//go:embed schema/0001_blobs.sql
	blobsSchema string
	//go:embed schema/0002_referrers.sql
	referrersSchema string
)

// Module is the catalog's claim on the engine's database, to be handed to the
// store when it is opened.
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

	// Logger hears of trouble in the background. Default: nobody does.
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

	wake func() // tells the collector that there is something to do
	stop func() // ends what runs in the background
	done sync.WaitGroup
}

// Open makes a catalog of what the engine's database and the content store
// hold. The store was opened with Module. Close ends what runs in the
// background, and leaves engine and content store open.
func Open(ctx context.Context, engine engine.Engine, bytes *content.Store, o *Options) (*Catalog, error) {
	c := &Catalog{engine: engine, content: bytes}
	if o != nil {
		c.o = *o
	}
	if c.o.Logger == nil {
		c.o.Logger = slog.New(slog.DiscardHandler)
	}
	if err := c.count(ctx); err != nil {
		return nil, err
	}
	if err := c.finishDeletions(ctx); err != nil {
		return nil, err
	}
	background, cancel := context.WithCancel(context.Background())
	c.stop, c.wake = cancel, func() {}
	if !c.o.Idle {
		c.wake = c.collectInBackground(background)
	}
	return c, nil
}

// Close ends what runs in the background and waits for it.
func (c *Catalog) Close() error {
	c.stop()
	c.done.Wait()
	return nil
}

// count learns which numbers are taken.
func (c *Catalog) count(ctx context.Context) error {
	var chunk, manifest, container int64
	// A container that failed to be deleted may have left rows that carry its
	// number.
	const sql = `SELECT
		(SELECT coalesce(max(id), 0) FROM blob_chunks),
		max((SELECT coalesce(max(manifest), 0) FROM blob_pieces), (SELECT coalesce(max(manifest), 0) FROM blob_dropped)),
		max((SELECT coalesce(max(id), 0) FROM blob_containers), (SELECT coalesce(max(container), 0) FROM blob_items),
			(SELECT coalesce(max(container), 0) FROM blob_blocks))`
	err := c.engine.Query(ctx, sql, nil, func(row engine.Columns) error {
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

// one runs a query that answers at most one row. It reports whether it did.
func (c *Catalog) one(ctx context.Context, sql string, args []any, scan func(engine.Columns)) (found bool, _ error) {
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

// do is a statement.
func do(sql string, args ...any) engine.Statement { return engine.Statement{SQL: sql, Args: args} }
