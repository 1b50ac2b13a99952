package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	azure "github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/open"
)

const contentDir = "blobs" // in the data directory

// backend is what the APIs serve.
type backend struct {
	store    leasehold.Store
	provider string        // the store's kind
	engine   embedded      // nil: there is none
	azure    *azure.Server // nil: no Azure Blob API
	accounts []sign.Account
}

// openBackend opens the store and the blobs. Reach is told to processes that
// find the database in use.
func openBackend(ctx context.Context, o Options, w *observers, reach string, c *closers) (b *backend, err error) {
	b = &backend{provider: open.Kind(o.Store)}
	if o.servesBlobs() {
		if b.accounts, err = readAccounts(o.BlobAccounts); err != nil {
			return nil, err
		}
	}
	if o.Store != "" {
		options := o.storeOptions(reach)
		options.Secret = o.Secret
		if b.store, err = open.Store(ctx, o.Store, options); err != nil {
			return nil, err
		}
		c.add(b.store.Close)
		if !o.servesBlobs() {
			return b, nil
		}
	}
	return b, b.openData(ctx, o, w, reach, c)
}

func (o *Options) storeOptions(reach string) *open.Options {
	return &open.Options{Reach: reach, Reserve: o.Reserve << 20, Logger: o.Logger}
}

// openData opens the data directory: the embedded engine, which is the store
// unless there is another one, and the blobs.
func (b *backend) openData(ctx context.Context, o Options, w *observers, reach string, c *closers) error {
	if o.InMemory {
		dir, remove, err := memoryDir()
		if err != nil {
			return err
		}
		c.add(remove)
		o.Data, o.Durability, o.Reserve = dir, "normal", 0
	}
	options := o.storeOptions(reach)
	options.Observer = w.engine
	options.BlobsOnly = b.store != nil // its leases may have been moved to that one
	engine, err := openEngine(ctx, o.Data, o.Durability, options, c)
	if err != nil {
		return err
	}
	if b.engine = engine; b.store == nil {
		b.store, b.provider = engine, powers.KindSQLite
	}
	if !o.servesBlobs() {
		return nil
	}
	blobs, err := openCatalog(ctx, engine, o.Data,
		&content.Options{NoSync: o.InMemory, Full: engine.LowOnSpace},
		&catalog.Options{SnapshotTTL: o.BlobSnapshotTTL, Logger: o.Logger}, c)
	if err != nil {
		return err
	}
	b.azure = azure.New(blobs, &azure.Options{
		Accounts: b.accounts, Hosts: o.blobHosts(b.accounts), Closed: o.blobClosed(),
		StallTimeout: o.Timeouts.Stall, Logger: o.Logger, Version: o.Version, Observer: w.blobs,
	})
	return nil
}

// embedded is the embedded engine, as a store and as what blobs are kept in.
type embedded interface {
	leasehold.Store
	engine.Engine
	observe.Figures
	LowOnSpace() bool
}

// openEngine opens the embedded engine in the data directory, which is made if
// it is missing unless it must exist.
func openEngine(ctx context.Context, dir, durability string, o *open.Options, c *closers) (embedded, error) {
	if !o.MustExist {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	o.Modules = []engine.Module{catalog.Module()}
	store, err := open.Store(ctx, open.SQLiteURL(DatabaseFile(dir))+"?durability="+durability, o)
	if err != nil {
		return nil, err
	}
	c.add(store.Close)
	return store.(embedded), nil
}

func openCatalog(ctx context.Context, engine engine.Engine, dir string, co *content.Options, o *catalog.Options, c *closers) (*catalog.Catalog, error) {
	chunks, err := content.Open(filepath.Join(dir, contentDir), co)
	if err != nil {
		return nil, fmt.Errorf("blob content: %w", err)
	}
	c.add(chunks.Close)
	blobs, err := catalog.Open(ctx, engine, chunks, o)
	if err != nil {
		return nil, err
	}
	c.add(blobs.Close)
	return blobs, nil
}

// WithCatalog calls use with the blobs in the data directory of a server that
// does not run.
func WithCatalog(ctx context.Context, data string, use func(*catalog.Catalog) error) (err error) {
	var c closers
	defer func() {
		if closed := c.close(); err == nil {
			err = closed
		}
	}()
	engine, err := openEngine(ctx, data, "full", &open.Options{MustExist: true, BlobsOnly: true}, &c)
	if err != nil {
		return err
	}
	blobs, err := openCatalog(ctx, engine, data, nil, &catalog.Options{Idle: true}, &c)
	if err != nil {
		return err
	}
	return use(blobs)
}
