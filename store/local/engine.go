// Package local is the embedded engine: every row in memory, decisions under
// one short lock, durability by group commit.
//
// How an answer comes about. A request takes the lock, runs the rules of
// package machine on the row it is about, changes the row in memory and adds
// what must be written to the pending batch, all in one go. It then lets the
// lock go and waits. One committer hands the pending batch to the Journal,
// which writes it in a single transaction, and everybody who waits for that
// batch is let go together: a hundred requests cost one fsync. Refusals and
// reads wait as well if the row they saw is not on disk yet, so no answer ever
// tells of something that a crash could undo.
//
// If a commit fails, everything that was decided on top of it is void. The
// engine throws its memory away, loads the journal anew, gives waiters their
// places back and goes on; see recover.go.
package local

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/turns"
	"github.com/leasehold/leasehold/machine"
)

// Remembered is how long the last lease of a resource is known after its end,
// if nobody acquires the resource before and not too many end after it.
const Remembered = time.Hour

// Options are the engine's. Nil is fine.
type Options struct {
	// Kind names the store in errors. Default "local".
	Kind string
}

// Engine is a leasehold.Store with every optional power but Backuper, and the
// seam's Engine. It owns its journal.
type Engine struct {
	kind    string
	journal Journal

	mu      sync.Mutex
	table   *table
	queues  map[string]*queue
	absent  []absence // in the order in which they end
	pauses  []pause   // too: of waits that may go on
	order   uint64    // the last place's
	config  config
	clock   clock
	token   uint64
	seq     uint64
	purged  uint64
	flight  *batch       // on its way to disk, or nil
	pending *batch       // what the next commit will write
	spare   *batch       // written, and its memory free to use; the committer's
	saved   machine.Time // the clock in the last commit
	wake    machine.Time // when the keeper looks next
	down    error        // why nothing can be decided, or nil
	closed  bool

	lastPurge uint64 // seq of the newest purged record
	settling  bool   // leases past their end are settled to make room for one
	lowLimit  int64  // of history records while space is low; 0: it is not

	// What came up while nothing could be decided, and is made good on resume.
	owed    []leasehold.Record
	orphans []machine.Row

	hub   hub
	lists *turns.Turns

	work    chan struct{}   // the pending batch has content
	nudge   chan struct{}   // the keeper should look sooner
	tidy    chan struct{}   // the sweeper should sweep now
	life    context.Context // of the background goroutines
	end     context.CancelFunc
	running sync.WaitGroup
}

var (
	_ leasehold.Store          = (*Engine)(nil)
	_ leasehold.Waiter         = (*Engine)(nil)
	_ leasehold.Breaker        = (*Engine)(nil)
	_ leasehold.Changer        = (*Engine)(nil)
	_ leasehold.Transferer     = (*Engine)(nil)
	_ leasehold.Finder         = (*Engine)(nil)
	_ leasehold.Lister         = (*Engine)(nil)
	_ leasehold.HolderReleaser = (*Engine)(nil)
	_ leasehold.Historian      = (*Engine)(nil)
	_ leasehold.Cleaner        = (*Engine)(nil)
	_ leasehold.Configurer     = (*Engine)(nil)
	_ leasehold.Watcher        = (*Engine)(nil)
	_ leasehold.BatchWatcher   = (*Engine)(nil)
	_ engine.Engine            = (*Engine)(nil)
)

// Open loads the journal and starts the engine. The engine owns the journal
// from then on; if Open fails it closes it.
func Open(ctx context.Context, journal Journal, opts *Options) (*Engine, error) {
	e := &Engine{
		kind:    "local",
		journal: journal,
		queues:  map[string]*queue{},
		lists:   turns.New(listShare, 0),
		work:    make(chan struct{}, 1),
		nudge:   make(chan struct{}, 1),
		tidy:    make(chan struct{}, 1),
	}
	e.life, e.end = context.WithCancel(context.Background())
	if opts != nil && opts.Kind != "" {
		e.kind = opts.Kind
	}
	loaded, err := e.load(ctx)
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	e.clock = startClock(loaded.Counters)
	e.token = loaded.Token
	e.adopt(loaded)
	e.pending = newBatch(loaded.Commit + 1)
	if e.table.due.len() > 0 && !e.clock.reading.comparable(loaded.Reading) {
		e.touch() // or a crash before the first save would lose the time until then
	}
	e.hub.start(loaded.Seq)
	go e.hub.publish() // until Close
	e.running.Go(e.commit)
	e.running.Go(e.keep)
	e.running.Go(e.sweep)
	return e, nil
}

// Close lets waiters go, writes and publishes what is pending, and closes the
// journal.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.hub.closed
		return nil
	}
	e.closed = true
	e.failPauses(e.now())
	e.dismiss()
	e.mu.Unlock()
	e.end()
	e.running.Wait()
	e.hub.close()
	return e.journal.Close()
}

var errClosed = errors.New("the store is closed")

// ready says whether the engine can decide. The lock is held.
func (e *Engine) ready() error {
	switch {
	case e.closed:
		return errClosed
	case e.down != nil:
		return e.down
	case e.token >= leasehold.MaxToken-1:
		return errors.New("the token counter has reached its end at 2^53")
	}
	return nil
}

// now reads the engine's clock. The lock is held.
func (e *Engine) now() machine.Instant { return e.clock.now() }

// signal wakes the goroutine behind a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
