package shared

import (
	"context"
	"errors"
	"sync"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/store/sqltx"
	sqlitedb "zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// db is the file: one connection that writes and a few that read, each from a
// snapshot of its own.
type db struct {
	path        string
	clock       string // the boot clock's name
	synchronous string

	readers *sqlitex.Pool

	queue queue
	turn  chan struct{} // held by the one goroutine that uses what follows
	lock  *dbfile.Lock
	write *dbfile.Writer // nil: it has to be opened again

	fileTurn *fileTurn // the processes'

	commit func(*dbfile.Writer) error // Commit; tests make it fail

	mu       sync.Mutex
	settings map[string]any // of version; never changed
	version  int64
	epoch    int64 // added to versions: another one where an engine may have been here
}

var _ sqltx.DB = (*db)(nil)

const readerCount = 4

// errNoClock refuses a system where processes cannot agree on the time.
var errNoClock = errors.New("this system has no boot clock that processes can share; " +
	"use the file without mode=shared, or leasehold serve")

// bootClock names the clock; tests replace it, and nothing else.
var bootClock = local.BootClock

// open locks the file and opens it.
func open(ctx context.Context, path string, o Options) (*db, error) {
	d := &db{path: path, turn: make(chan struct{}, 1), clock: bootClock(), synchronous: "FULL", commit: (*dbfile.Writer).Commit}
	if o.Durability == sqlite.DurabilityNormal {
		d.synchronous = "NORMAL"
	}
	err := d.open(ctx, o)
	if err == nil {
		return d, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return nil, dbfile.Unavailable("open", path, errors.Join(err, d.Close()))
}

func (d *db) open(ctx context.Context, o Options) (err error) {
	if o.Durability > sqlite.DurabilityNormal {
		return dbfile.Invalid("durability", "is %d; want DurabilityFull or DurabilityNormal", o.Durability)
	}
	if d.clock == "" {
		return errNoClock
	}
	if o.MustExist {
		if err := dbfile.MustExist(d.path); err != nil {
			return err
		}
	}
	if d.path, err = dbfile.Resolve(d.path); err != nil {
		return err
	}
	if d.lock, err = dbfile.LockShared(ctx, d.path, d.clock, func() error { return d.prepare(ctx) }); err != nil {
		return err
	}
	d.fileTurn = newTurn(d.path)
	if err := d.openWriter(); err != nil {
		return err
	}
	if err := dbfile.Joined(d.write.Conn, d.path); err != nil {
		return err
	}
	d.readers, err = sqlitex.NewPool(d.path, sqlitex.PoolOptions{
		Flags:    sqlitedb.OpenReadOnly,
		PoolSize: readerCount,
		PrepareConn: func(conn *sqlitedb.Conn) error {
			conn.SetBusyTimeout(dbfile.BusyTimeout)
			return dbfile.Run(conn, "PRAGMA cache_size = -500") // KiB; the system keeps the file's pages anyhow
		},
	})
	return err
}

// prepare makes the file ready while no other process has it. A process that was
// killed, or whose sync failed, may have left a log that is only in the system's
// cache.
func (d *db) prepare(ctx context.Context) error {
	if d.synchronous == "FULL" {
		if err := dbfile.RewriteLog(d.path); err != nil {
			return err
		}
	}
	return dbfile.Prepare(ctx, d.path, nil, dbfile.ForSharing(d.path))
}

// openWriter opens the connection that writes. The turn is held.
func (d *db) openWriter() (err error) {
	if d.write, err = dbfile.OpenWriter(d.path, d.synchronous); err != nil {
		return err
	}
	d.write.Conn.SetBusyTimeout(0) // see startTransaction
	return nil
}

// Traits implements sqltx.DB.
func (d *db) Traits() sqltx.Traits {
	return sqltx.Traits{Kind: dbfile.Kind, NoWaiting: true, Serial: true, Notes: true}
}

// Close implements sqltx.DB.
func (d *db) Close() error {
	var errs []error
	if d.readers != nil {
		errs = append(errs, d.readers.Close())
	}
	if d.write != nil {
		errs = append(errs, d.write.Conn.Close())
	}
	errs = append(errs, d.fileTurn.close())
	err := dbfile.Describe(d.path, errors.Join(errs...))
	return errors.Join(err, d.lock.Unlock())
}

// unavailable is the error of a call that wrote nothing.
func (d *db) unavailable(err error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: dbfile.Describe(d.path, err)}
}

// header is what every transaction reads first.
type header struct {
	local.Counters
	control sqltx.Control
	epoch   int64
}

// readHeader reads the counters, the mark and, if they have changed, the settings.
func (d *db) readHeader(conn *sqlitedb.Conn) (h header, err error) {
	d.mu.Lock()
	h.epoch = d.epoch
	d.mu.Unlock()
	found := false
	err = query(conn, sqlHeader, nil, func(s *sqlitedb.Stmt) error {
		found = true
		h.Counters = dbfile.CountersOf(s)
		h.control = sqltx.Control{
			Version: s.ColumnInt64(14) + h.epoch,
			Purged:  h.Purged,
			Mark: sqltx.Mark{
				ID: s.ColumnText(10), State: move.State(s.ColumnText(11)), Peer: s.ColumnText(12),
				Until: machine.Time(s.ColumnInt64(13)),
			},
		}
		return nil
	})
	switch {
	case err != nil:
		return h, err
	case !found:
		return h, dbfile.Damaged(d.path, errors.New("the counters are missing"))
	}
	h.control.Settings, err = d.readSettings(conn, h.control.Version)
	return h, err
}

// readSettings reads the settings once for each version: a commit that changes them
// draws another one.
func (d *db) readSettings(conn *sqlitedb.Conn, version int64) (map[string]any, error) {
	d.mu.Lock()
	settings, known := d.settings, d.version
	d.mu.Unlock()
	if known == version && settings != nil {
		return settings, nil
	}
	settings, err := dbfile.ReadSettings(conn)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.settings, d.version = settings, version
	d.mu.Unlock()
	return settings, nil
}
