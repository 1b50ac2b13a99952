package shared

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/store/sqltx"
	sqlitedb "zombiezen.com/go/sqlite"
)

// step is an operation that waits for its turn, and then its outcome.
type step struct {
	need   sqltx.Need
	decide func(sqltx.Found) sqltx.Write
	custom func(*transaction) error // instead of need and decide

	since    time.Time // it waits
	done     sqltx.Done
	err      error
	finished chan struct{}
}

// queue is the steps of this process that wait, in order.
type queue struct {
	mu    sync.Mutex
	steps []*step
}

func (q *queue) add(s *step) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.steps = append(q.steps, s)
}

// remove reports whether the step was still waiting.
func (q *queue) remove(s *step) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.steps, s)
	if i < 0 {
		return false
	}
	q.steps = slices.Delete(q.steps, i, i+1)
	return true
}

// maxSteps is how many steps share a transaction: other processes wait meanwhile.
const maxSteps = 64

func (q *queue) pop() []*step {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.steps), maxSteps)
	steps := slices.Clone(q.steps[:n])
	q.steps = slices.Delete(q.steps, 0, n)
	return steps
}

// Step implements sqltx.DB. The steps of this process that wait for the file at the
// same time share one transaction, and so one sync of the disk. Each sees what those
// before it wrote; all are answered when all of it is durable.
func (d *db) Step(ctx context.Context, n sqltx.Need, decide func(sqltx.Found) sqltx.Write) (sqltx.Done, error) {
	s := &step{need: n, decide: decide}
	err := d.run(ctx, s)
	return s.done, err
}

// change runs f in a transaction and saves the clock with it.
func (d *db) change(ctx context.Context, f func(*transaction) error) error {
	return d.run(ctx, &step{custom: f})
}

// run waits for the step, or runs it and those that wait with it.
func (d *db) run(ctx context.Context, s *step) error {
	s.since, s.finished = time.Now(), make(chan struct{})
	d.queue.add(s)
	select {
	case d.turn <- struct{}{}:
		d.runQueue(ctx, s)
		d.fileTurn.finish()
		<-d.turn
	case <-s.finished:
	case <-ctx.Done():
		if d.queue.remove(s) {
			return d.unavailable(context.Cause(ctx))
		}
	}
	<-s.finished
	return s.err
}

// runQueue runs what waits, until that includes own. The turn is held.
func (d *db) runQueue(ctx context.Context, own *step) {
	for {
		select {
		case <-own.finished:
			return
		default:
		}
		if answered, err := d.startTransaction(ctx, own); answered || err != nil {
			if d.queue.remove(own) {
				own.err = err
				close(own.finished)
			}
			return // others try for themselves
		}
		steps := d.queue.pop()
		err := d.runTogether(steps)
		for _, s := range steps {
			if s.err == nil {
				s.err = err
			}
			close(s.finished)
		}
		d.fileTurn.finish()
	}
}

// startTransaction starts the transaction, or answers its own step without one. Where the file
// is taken though this process has the turn, it tries again: the longer it waits, the
// more often.
func (d *db) startTransaction(ctx context.Context, own *step) (answered bool, err error) {
	read := false
	if !d.fileTurn.try() {
		if answered, err := d.readOnly(ctx, own); answered || err != nil {
			return answered, err
		}
		read = true
		d.fileTurn.wait(ctx)
	}
	for {
		err := d.tryStart(ctx)
		if err == nil {
			return false, nil
		}
		if !isBusy(err) {
			return false, d.unavailable(err)
		}
		if !read {
			read = true
			if answered, err := d.readOnly(ctx, own); answered || err != nil {
				return answered, err
			}
		}
		if !sleep.For(ctx, pauseAfter(time.Since(own.since))) {
			return false, d.unavailable(errors.Join(errCrowded, context.Cause(ctx)))
		}
	}
}

// readOnly answers a step that has nothing to write, such as an acquire of what
// others hold, from a snapshot: they need not wait for the file.
func (d *db) readOnly(ctx context.Context, s *step) (answered bool, err error) {
	if s.custom != nil {
		return false, nil
	}
	err = d.read(ctx, func(conn *sqlitedb.Conn, h header) error {
		now, due, err := h.look(conn)
		if err != nil || due {
			return err
		}
		found, err := find(conn, now, h, s.need)
		if err != nil {
			return err
		}
		if w := s.decide(found); w.IsZero() {
			s.done, answered = sqltx.Done{Found: found, Now: now}, true
		}
		return nil
	})
	return answered, err
}

var errCrowded = errors.New("other processes had the file locked all the time")

// The pauses of one that waits for the file: about as long as a commit, shorter for
// those that have waited long.
const (
	firstPause = 2 * time.Millisecond
	lastPause  = 500 * time.Microsecond
)

func pauseAfter(waited time.Duration) time.Duration {
	mean := firstPause
	if waited > 100*time.Millisecond {
		mean = lastPause
	}
	return mean/2 + rand.N(mean)
}

func isBusy(err error) bool { return sqlitedb.ErrCode(err).ToPrimary() == sqlitedb.ResultBusy }

// tryStart starts the transaction, if no other process has one, and makes sure that
// no engine has the file: without its lock file it would not know of this process.
func (d *db) tryStart(ctx context.Context) error {
	if d.write == nil {
		if err := d.openWriter(); err != nil {
			return err
		}
	}
	if err := d.write.Start(); err != nil {
		if !isBusy(err) {
			d.distrust()
		}
		return err
	}
	if d.lock.Stands() {
		return nil
	}
	d.distrust()
	if err := d.lockAgain(ctx); err != nil {
		return err
	}
	return d.tryStart(ctx)
}

// lockAgain locks a new lock file in place of one that was deleted. An engine may have
// been here and granted sets.
func (d *db) lockAgain(ctx context.Context) error {
	lock, err := dbfile.LockShared(ctx, d.path, d.clock, func() error { return dbfile.CheckShareable(d.path) })
	if err != nil {
		return err
	}
	_ = d.lock.Unlock() // of a file that nobody can find any more
	d.lock = lock
	d.mu.Lock()
	d.epoch = rand.Int64() // an engine may have been here, which draws no versions
	d.mu.Unlock()
	return nil
}

// distrust closes the connection: after a write or a sync that failed nothing it has
// in memory counts. What it did not commit is undone.
func (d *db) distrust() {
	if d.write != nil {
		_ = d.write.Conn.Close() // whatever it says, another one takes its place
		d.write = nil
	}
}

// runTogether runs the steps in the transaction that has begun, and commits. Its
// error is that of all of them.
func (d *db) runTogether(steps []*step) error {
	t, err := d.newTransaction()
	if err == nil {
		for _, s := range steps {
			if err = t.run(s); err != nil {
				break
			}
		}
	}
	if err == nil && !t.changed {
		if err = dbfile.Run(d.write.Conn, "ROLLBACK"); err == nil {
			return nil
		}
	}
	if err == nil {
		err = t.finish()
	}
	if err != nil {
		d.distrust()
		return d.unavailable(err)
	}
	if err := d.commit(d.write); err != nil {
		d.distrust()
		return &leasehold.Error{Reason: commitReason(err), Cause: dbfile.Describe(d.path, err)}
	}
	now, _ := t.Advance()
	for _, s := range steps {
		s.done.Now = now
	}
	return nil
}

// commitReason says whether a commit that failed may have happened all the same. If
// not all of it could be written to the log it did not.
func commitReason(err error) leasehold.Reason {
	switch code := sqlitedb.ErrCode(err); {
	case code.ToPrimary() == sqlitedb.ResultFull, code.ToPrimary() == sqlitedb.ResultReadOnly,
		code.ToPrimary() == sqlitedb.ResultBusy, code == sqlitedb.ResultIOErrWrite:
		return leasehold.ReasonUnavailable
	}
	return leasehold.ReasonUnknown
}
