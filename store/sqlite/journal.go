package sqlite

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"

	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/turns"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// journal keeps the engine's rows and history in one SQLite file. One
// connection writes; a few others read, each from a snapshot of its own, so
// that neither waits for the other.
type journal struct {
	path       string
	durability Durability
	lock       *dbfile.Lock
	reserve    *reserve
	log        *slog.Logger

	writer *dbfile.Writer // nil before Load and after a failed commit
	failed *dbfile.Writer // the one whose commit failed; Load closes it

	turns *turns.Turns // of scans

	// Two pools, so that reading a module's rows never waits for a scan of the
	// history or a backup. Both are nil before Load and after Close.
	mu                sync.RWMutex
	readers, scanners *sqlitex.Pool
}

var (
	_ local.Journal = (*journal)(nil)
	_ local.Querier = (*journal)(nil)
	_ local.Spacer  = (*journal)(nil)
)

const (
	readerCount = 4
	// scannerCount is enough for a scan, a purge and a backup.
	scannerCount = 3
)

// openJournal locks the file and prepares it. Load opens it.
func openJournal(ctx context.Context, path string, opts Options) (*journal, error) {
	if opts.MustExist {
		if err := dbfile.MustExist(path); err != nil {
			return nil, err
		}
	}
	path, err := dbfile.Resolve(path)
	if err != nil {
		return nil, err
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	j := &journal{
		path: path, durability: opts.Durability, reserve: newReserve(path, opts), log: opts.Logger,
		turns: turns.New(scanShare, 0),
	}
	err = j.withReserve(func() error {
		j.lock, err = dbfile.LockAlone(path, opts.Reach)
		return err
	})
	if err != nil {
		j.reserve.close()
		return nil, err
	}
	err = j.withReserve(func() error { return dbfile.Prepare(ctx, path, opts.Modules, dbfile.ForEngine(path, opts.BlobsOnly)) })
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		j.reserve.close()
		return nil, errors.Join(dbfile.Describe(path, err), j.lock.Unlock())
	}
	j.reserve.create()
	return j, nil
}

// withReserve runs f, which needs space, and runs it again without the reserve if
// the disk is full.
func (j *journal) withReserve(f func() error) error {
	err := f()
	if err != nil && j.isFull(err) && j.reserve.free(err) {
		return f()
	}
	return err
}

// isFull reports whether an error comes from a full disk.
func (j *journal) isFull(err error) bool {
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultFull:
		return true
	case sqlite.ResultIOErr, sqlite.ResultCantOpen:
		return diskFull(j.path)
	}
	return dbfile.NoSpace(err)
}

// LowOnSpace implements local.Spacer.
func (j *journal) LowOnSpace() bool { return j.reserve.freed.Load() }

// Load opens the file again and reads it. It reports only what is on disk,
// whatever happened to earlier handles and syncs.
func (j *journal) Load(ctx context.Context, each func(machine.Row) error) (state local.JournalState, err error) {
	if err := j.withReserve(j.open); err != nil { // before each is called: it must not be called twice
		return local.JournalState{}, errors.Join(dbfile.Describe(j.path, err), j.closeAll())
	}
	if state, err = j.writer.Load(ctx, each); err != nil {
		return local.JournalState{}, errors.Join(dbfile.Describe(j.path, err), j.closeAll())
	}
	return state, nil
}

// open opens the file again.
func (j *journal) open() error {
	// Errors of closing do not matter: these handles are not trusted, and what
	// they failed to write is still in the log.
	_ = j.closeAll()
	if j.durability == DurabilityFull {
		if err := dbfile.RewriteLog(j.path); err != nil {
			return err
		}
	}
	w, err := dbfile.OpenWriter(j.path, j.durability.synchronous())
	if err != nil {
		return err
	}
	j.writer = w
	return j.openPools()
}

// openPools opens the connections that read.
func (j *journal) openPools() error {
	readers, err := j.openPool(readerCount)
	if err != nil {
		return err
	}
	scanners, err := j.openPool(scannerCount)
	if err != nil {
		return errors.Join(err, readers.Close())
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.readers, j.scanners = readers, scanners
	return nil
}

func (j *journal) openPool(size int) (*sqlitex.Pool, error) {
	return sqlitex.NewPool(j.path, sqlitex.PoolOptions{
		Flags:    sqlite.OpenReadOnly,
		PoolSize: size,
		PrepareConn: func(conn *sqlite.Conn) error {
			conn.SetBusyTimeout(dbfile.BusyTimeout)
			return dbfile.Run(conn, "PRAGMA cache_size = -500") // KiB; the system keeps the file's pages anyhow
		},
	})
}

// Commit writes the batch in one transaction. If the disk is full it frees the
// reserve and writes again, so that no caller notices.
func (j *journal) Commit(b *local.Batch) error {
	if j.writer == nil {
		return errUnloaded
	}
	err := j.writer.Write(b)
	if err == nil {
		return nil
	}
	if j.isFull(err) && j.reserve.free(err) && j.writeAgain(b) == nil {
		return nil
	}
	j.failed, j.writer = j.writer, nil
	return dbfile.Describe(j.path, err)
}

// writeAgain opens the file again and writes a batch whose commit failed, unless
// it is in the file after all.
func (j *journal) writeAgain(b *local.Batch) error {
	if err := j.open(); err != nil {
		return err
	}
	var c local.Counters
	if _, err := dbfile.ReadCounters(j.writer.Conn, &c); err != nil || c.Commit >= b.Commit {
		return err
	}
	return j.writer.Write(b)
}

var errUnloaded = errors.New("the journal failed and is not loaded again yet")

// Close closes the file and unlocks it.
func (j *journal) Close() error {
	j.reserve.close()
	err := dbfile.Describe(j.path, j.closeAll())
	return errors.Join(err, j.lock.Unlock())
}

// closeAll interrupts the reads under way and closes every connection.
func (j *journal) closeAll() error {
	j.mu.Lock()
	pools := []*sqlitex.Pool{j.readers, j.scanners}
	j.readers, j.scanners = nil, nil
	j.mu.Unlock()
	var errs []error
	for _, pool := range pools {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	for _, w := range []*dbfile.Writer{j.failed, j.writer} {
		if w != nil {
			errs = append(errs, w.Conn.Close())
		}
	}
	j.failed, j.writer = nil, nil
	return errors.Join(errs...)
}

// read calls f with a connection of one of the pools. It is interrupted when ctx
// ends.
func (j *journal) read(ctx context.Context, from **sqlitex.Pool, f func(*sqlite.Conn) error) error {
	j.mu.RLock()
	pool := *from
	j.mu.RUnlock()
	if pool == nil {
		return errUnloaded
	}
	conn, err := pool.Take(ctx)
	if err == nil {
		err = f(conn)
		pool.Put(conn)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err = dbfile.Describe(j.path, err)
	if errors.Is(err, ErrDamaged) { // the engine logs what Load and Commit find
		j.log.LogAttrs(ctx, slog.LevelError, "the database is damaged", slog.Any("error", err))
	}
	return err
}

// Query implements local.Querier, on a connection that cannot write. Statements
// stay prepared, so a module puts its values into arguments.
func (j *journal) Query(ctx context.Context, sql string, args []any, row func(engine.Columns) error) error {
	return j.read(ctx, &j.readers, func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare(sql)
		if err != nil {
			return err
		}
		if err := dbfile.BindArgs(stmt, args); err != nil {
			return err
		}
		return dbfile.EachRow(stmt, func() error { return row(columns{stmt}) })
	})
}

// columns reads one result row. What it returns stays valid after the row.
type columns struct{ stmt *sqlite.Stmt }

func (c columns) Int64(i int) int64 { return c.stmt.ColumnInt64(i) }
func (c columns) Text(i int) string { return c.stmt.ColumnText(i) }
func (c columns) IsNull(i int) bool { return c.stmt.ColumnIsNull(i) }

func (c columns) Bytes(i int) []byte {
	b := make([]byte, c.stmt.ColumnLen(i))
	return b[:c.stmt.ColumnBytes(i, b)]
}
