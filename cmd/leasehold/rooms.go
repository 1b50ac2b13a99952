package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
	chunks "github.com/leasehold/leasehold/azure/content"
	azure "github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/open"
)

const blobDir = "blobs" // in the data directory

// rooms are what the doors lead into.
type rooms struct {
	store    leasehold.Store
	blobs    *azure.Server // nil: that door is shut
	accounts []sign.Account

	closers []func() error // the last one first
}

// close lets go of everything. All that was answered is durable already, so
// nothing is lost if this fails.
func (r *rooms) close() error {
	var err error
	for i := len(r.closers) - 1; i >= 0; i-- {
		err = errors.Join(err, r.closers[i]())
	}
	return err
}

func (r *rooms) later(close func() error) { r.closers = append(r.closers, close) }

// openRooms opens the store that the server will own, and the blobs. The
// environment's store has no say: it is where clients go.
func (a *app) openRooms(ctx context.Context, f serveFlags, reach string, log *slog.Logger) (_ *rooms, err error) {
	if strings.HasPrefix(open.Scheme(a.storeURL), "http") {
		return nil, usagef("--store names a server; to serve, name a store, or none for the data directory")
	}
	r := new(rooms)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if !f.blob.off() {
		if r.accounts, err = f.blob.readAccounts(); err != nil {
			return nil, err
		}
	}
	if a.storeURL != "" {
		if r.store, err = open.Store(ctx, a.storeURL, &open.Options{Reach: reach, Reserve: f.reserve << 20, Logger: log}); err != nil {
			return nil, err
		}
		r.later(r.store.Close)
		if f.blob.off() {
			return r, nil
		}
	}
	return r, r.openData(ctx, f, reach, log)
}

// openData opens the data directory: the embedded engine, which is the store
// unless there is another one, and the blobs.
func (r *rooms) openData(ctx context.Context, f serveFlags, reach string, log *slog.Logger) error {
	if f.inMemory {
		dir, remove, err := memoryDir()
		if err != nil {
			return err
		}
		r.later(remove)
		f.data, f.durability, f.reserve = dir, "normal", 0
	}
	engine, err := openEngine(ctx, f.data, f.durability, &open.Options{Reach: reach, Reserve: f.reserve << 20, Logger: log})
	if err != nil {
		return err
	}
	r.later(engine.Close)
	if r.store == nil {
		r.store = engine
	}
	if f.blob.off() {
		return nil
	}
	rows, err := openCatalog(ctx, engine, f.data, &chunks.Options{NoSync: f.inMemory, Full: engine.LowOnSpace}, &catalog.Options{SnapshotTTL: f.blob.snapshotTTL, Logger: log}, r)
	if err != nil {
		return err
	}
	r.blobs = azure.New(rows, &azure.Options{
		Accounts: r.accounts, Hosts: f.blobHosts(r.accounts), Closed: f.blobClosed(), StallTimeout: f.timeouts.stall, Logger: log, Version: readBuildInfo().Version,
	})
	return nil
}

// embedded is the embedded engine, as a store and as what blobs are kept in.
type embedded interface {
	leasehold.Store
	engine.Engine
	LowOnSpace() bool
}

// openEngine opens the embedded engine in the data directory, which is made if
// it is missing unless it must exist.
func openEngine(ctx context.Context, dir, durability string, o *open.Options) (embedded, error) {
	if !o.MustExist {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("data directory: %w", err)
		}
	}
	url := open.SQLiteURL(filepath.Join(dir, dataFile)) + "?durability=" + durability
	o.Modules = []engine.Module{catalog.Module()}
	s, err := open.Store(ctx, url, o)
	if err != nil {
		return nil, err
	}
	return s.(embedded), nil
}

// openCatalog opens the blobs of a data directory. They are closed with r.
func openCatalog(ctx context.Context, engine engine.Engine, dir string, bo *chunks.Options, co *catalog.Options, r *rooms) (*catalog.Catalog, error) {
	bytes, err := chunks.Open(filepath.Join(dir, blobDir), bo)
	if err != nil {
		return nil, fmt.Errorf("blob content: %w", err)
	}
	r.later(bytes.Close)
	rows, err := catalog.Open(ctx, engine, bytes, co)
	if err != nil {
		return nil, err
	}
	r.later(rows.Close)
	return rows, nil
}
