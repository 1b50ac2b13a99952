// Package shared is the SQLite file in shared mode: several processes of one machine
// open it at the same time and need no server. Each operation is a short
// transaction, in which the file is locked, the clock advanced, and the next row
// decided by the rules of package machine.
//
// What it promises. An answer is given only when everything it says is in the file
// and synced (with sqlite.DurabilityFull), so that neither kill -9 nor a power cut
// undoes it. The lease of a process that died ends when it said it would. A file
// may change modes: the embedded engine (package sqlite) finds every lease, token
// and record, and the other way round. The two refuse each other while one of them
// has the file open. Only leases of claims must have ended before the file is opened
// here (sqlite.ErrSets): this mode grants none and would not see them.
//
// What it needs. All processes are on one machine and in one time namespace, since
// they share the boot clock; where the system has none (Windows), Open refuses. The
// file must be on a local disk: network file systems keep neither locks nor syncs as
// promised. Nobody may wake a waiter in another process, so there is no waiting: the
// Manager tries again, with growing pauses.
//
// How the package is organised. store.go is the API. db.go implements sqltx.DB: it
// opens the file, and connections that read; queue.go and transaction.go write: the
// operations of one process that wait for the file share a transaction. read.go and
// history.go read. What both modes have in common is in sqlite/internal/dbfile.
package shared

import (
	"context"
	"log/slog"

	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqltx"
)

// Store is a leasehold.Store in a file that other processes have open as well. It
// has every optional power but waiting, backups and modules. Close closes the file.
type Store struct {
	*sqltx.Store
	db *db
}

// Options are the store's. Nil is fine.
type Options struct {
	// Durability of a commit. Default sqlite.DurabilityFull.
	Durability sqlite.Durability

	// MustExist refuses to make the file, with sqlite.ErrMissing. Default: the file
	// is made if there is none.
	MustExist bool

	// Logger logs what fails in the background. Default: none.
	Logger *slog.Logger
}

// Open opens the store in the file at path, which other processes may have open in
// shared mode too, and makes the file if there is none.
//
// It refuses what sqlite.Open refuses, with the same errors, and a file with live leases
// of claims, with sqlite.ErrSets. sqlite.ErrInUse is for
// a file that the embedded engine has open, or that processes with another boot
// clock share.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	db, err := open(ctx, path, *opts)
	if err != nil {
		return nil, err
	}
	return &Store{Store: sqltx.New(db, &sqltx.Options{Logger: opts.Logger}), db: db}, nil
}
