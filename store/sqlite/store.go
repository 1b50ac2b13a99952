// Package sqlite is the default store: the embedded engine of package local with
// one SQLite file as its journal, without cgo.
//
// What it promises. An answer is given only when everything it says is in the
// file and synced (with DurabilityFull), so that neither kill -9 nor a power cut
// undoes it. After a write or a sync that failed, no handle is trusted: the file
// is closed, opened again and read again before anything more is decided.
//
// What it needs. The file belongs to one process at a time; a second one is
// refused, with a message that names the first. The file, its companions
// (FILE-wal, FILE-shm, FILE.lock) and its backups hold lease ids, which are
// secrets: they are readable by their owner only. The file must be on a local
// disk: network file systems keep neither locks nor syncs as promised.
//
// Other programs may read the file while it is in use. They must not write to
// it: the engine keeps its rows in memory and would never see the change.
//
// How the package is organised. store.go is the API, with backup.go and
// restore.go. journal.go implements local.Journal: one writer and two pools of
// readers (history.go, and Query for modules). reserve.go keeps space on the disk,
// disk.go measures it. What the shared mode (package shared) has in common with
// this one is in internal/dbfile: the file, its lock, its schema, its rows.
package sqlite

import (
	"context"
	"log/slog"

	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/store/local"
)

// Store is the embedded engine on a SQLite file: a leasehold.Store with every
// optional power, and an engine.Engine. Close closes the file.
type Store struct {
	*local.Engine
	journal *journal
}

var _ leasehold.Backuper = (*Store)(nil)

// Open opens the store in the file at path and makes the file if there is none.
//
// It refuses, with an error that says what to do, a file that another process
// has open (ErrInUse), that is not Leasehold's (ErrForeign), that a newer
// program has changed (ErrNewer), that is damaged (ErrDamaged) or cannot be
// written (ErrReadOnly), or whose leases were moved to another store; the file stays as it was, byte by byte. A file that
// must exist and does not is ErrMissing.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := opts.validate(); err != nil {
		return nil, dbfile.Unavailable("open", path, err)
	}
	j, err := openJournal(ctx, path, *opts)
	if err != nil {
		return nil, dbfile.Unavailable("open", path, err)
	}
	engine, err := local.Open(ctx, j, &local.Options{Kind: dbfile.Kind, Observer: opts.Observer, Logger: opts.Logger})
	if err != nil {
		return nil, dbfile.Unavailable("open", path, err)
	}
	return &Store{Engine: engine, journal: j}, nil
}

// Durability is what an answered request survives.
type Durability uint8

const (
	// DurabilityFull survives kill -9 and power loss: every commit is synced.
	// For SQLite it is synchronous=FULL. (EXTRA would add nothing: it differs
	// from FULL only for rollback journals, and this file has a write-ahead log.)
	DurabilityFull Durability = iota

	// DurabilityNormal survives kill -9. A power loss may undo the last commits,
	// and tokens granted in them are then granted again.
	DurabilityNormal
)

// synchronous is the durability as SQLite names it.
func (d Durability) synchronous() string {
	if d == DurabilityNormal {
		return "NORMAL"
	}
	return "FULL"
}

// Options are the store's. Nil is fine.
type Options struct {
	// Durability of a commit. Default DurabilityFull.
	Durability Durability

	// Modules that keep tables of their own in the file. Default none.
	Modules []engine.Module

	// MustExist refuses to make the file, with ErrMissing: to a program that only
	// reads, a new and empty store would hide a mistyped name. Default: the file
	// is made if there is none.
	MustExist bool

	// BlobsOnly opens the file even if its leases were moved to another store:
	// blobs and their leases stay behind. Default: such a file is refused.
	BlobsOnly bool

	// Reach says how to reach this process, such as the address of its JSON API.
	// The error of a program that is refused the file contains it. Default: the
	// error has only the process id and the host.
	Reach string

	// Reserve is how many bytes of disk are kept beside the file, as FILE.reserve,
	// to be freed when the disk is full. Default: none is made; an existing one
	// stays, and is used if need be.
	Reserve int64

	// Logger gets a line when the file cannot be written or is found damaged
	// (Error), and when the reserve is freed (Warn) and restored (Info). Default:
	// none.
	Logger *slog.Logger

	// Observer is told of commits. Default: nobody is.
	Observer *local.Observer
}

func (o *Options) validate() error {
	if o.Durability > DurabilityNormal {
		return dbfile.Invalid("durability", "is %d; want DurabilityFull or DurabilityNormal", o.Durability)
	}
	if o.Reserve < 0 {
		return dbfile.Invalid("reserve", "is %d; want bytes, or 0 for none", o.Reserve)
	}
	return dbfile.CheckModules(o.Modules)
}
