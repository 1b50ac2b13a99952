package sqlite

import (
	"context"
	"errors"
	"sync"

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
	lock       *lock
	reserve    *reserve

	writer *writer // nil before Load and after a failed commit
	broken *writer // the one whose commit failed, to be closed by Load

	turns *turns.Turns // of scans

	// Whoever reads a module's rows never waits for a connection that scans the
	// history or makes a backup. Both are nil before Load and after Close.
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

// openJournal claims the file and makes it ready. Load opens it.
func openJournal(ctx context.Context, path string, opts Options) (*journal, error) {
	if opts.MustExist {
		if err := mustExist(path); err != nil {
			return nil, err
		}
	}
	path, err := resolve(path)
	if err != nil {
		return nil, err
	}
	j := &journal{path: path, durability: opts.Durability, reserve: newReserve(path, opts), turns: turns.New(scanShare, 0)}
	err = j.orGiveUp(func() error {
		j.lock, err = takeLock(path, opts.Reach)
		return err
	})
	if err != nil {
		j.reserve.close()
		return nil, err
	}
	err = j.orGiveUp(func() error { return prepare(ctx, path, opts.Modules) })
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		j.reserve.close()
		return nil, errors.Join(explain(path, err), j.lock.free())
	}
	j.reserve.keep()
	return j, nil
}

// orGiveUp does something that needs space, and does it again without the
// reserve if there is none.
func (j *journal) orGiveUp(do func() error) error {
	err := do()
	if err != nil && j.isFull(err) && j.reserve.giveUp(err) {
		return do()
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
	return noSpace(err)
}

// LowOnSpace implements local.Spacer.
func (j *journal) LowOnSpace() bool { return j.reserve.given.Load() }

// Load opens the file anew and reads it. Nothing is reported that is not on
// disk, whatever became of the handles and syncs before.
func (j *journal) Load(ctx context.Context, each func(machine.Row) error) (state local.State, err error) {
	if err := j.orGiveUp(j.open); err != nil { // before each is called: it must not be called twice
		return local.State{}, errors.Join(explain(j.path, err), j.shut())
	}
	if state, err = j.writer.load(ctx, each); err != nil {
		return local.State{}, errors.Join(explain(j.path, err), j.shut())
	}
	return state, nil
}

// open opens the file anew.
func (j *journal) open() error {
	// What closing says is of no interest: these handles are not trusted, and
	// what they failed to write is still in the log.
	_ = j.shut()
	if j.durability == DurabilityFull {
		if err := settle(j.path); err != nil {
			return err
		}
	}
	w, err := openWriter(j.path, j.durability)
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
			conn.SetBusyTimeout(busyTimeout)
			return run(conn, "PRAGMA cache_size = -500") // KiB; the system keeps the file's pages anyhow
		},
	})
}

// Commit writes the batch in one transaction. If the disk is full it gives the
// reserve up and writes it again, so that nobody notices.
func (j *journal) Commit(b *local.Batch) error {
	if j.writer == nil {
		return errUnloaded
	}
	err := j.writer.write(b)
	if err == nil {
		return nil
	}
	if j.isFull(err) && j.reserve.giveUp(err) && j.writeAgain(b) == nil {
		return nil
	}
	j.broken, j.writer = j.writer, nil
	return explain(j.path, err)
}

// writeAgain opens the file anew and writes a batch whose commit failed, unless
// it is in the file after all.
func (j *journal) writeAgain(b *local.Batch) error {
	if err := j.open(); err != nil {
		return err
	}
	var c local.Counters
	if _, err := readCounters(j.writer.conn, &c); err != nil || c.Commit >= b.Commit {
		return err
	}
	return j.writer.write(b)
}

var errUnloaded = errors.New("the journal failed and is not loaded again yet")

// Close closes the file and lets the lock go.
func (j *journal) Close() error {
	j.reserve.close()
	err := explain(j.path, j.shut())
	return errors.Join(err, j.lock.free())
}

// shut closes every connection, after the reads under way have been cut short.
func (j *journal) shut() error {
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
	for _, w := range []*writer{j.broken, j.writer} {
		if w != nil {
			errs = append(errs, w.conn.Close())
		}
	}
	j.broken, j.writer = nil, nil
	return errors.Join(errs...)
}

// read lends a connection of one of the pools to f. It is cut short when ctx
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
	return explain(j.path, err)
}
