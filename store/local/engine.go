// Package local is the embedded engine: every row in memory, decisions under
// one short lock, durability by group commit.
//
// A request takes the lock, runs the rules of package machine on its row,
// changes the row in memory and adds what must be written to the pending batch,
// all under the same lock. It then waits. One goroutine, the committer, gives
// the pending batch to the Journal, which writes it in a single transaction, and
// all requests of that batch are answered together: a hundred requests cost one
// fsync. Refusals and reads also wait if the row they saw is not on disk yet, so
// a crash never undoes anything that was answered.
//
// If a commit fails, everything decided on top of it is void. The engine drops
// its memory, loads the journal again, puts waiters back into their positions
// and continues; see recover.go.
//
// How the package is organised. Engine's methods take the lock. They are the API,
// one file for each subject (lease.go, wait.go, list.go, history.go,
// config.go, cleanup.go, figures.go, and module.go for other modules), and the
// goroutines (commit.go with recover.go, timers.go, the sweeper in cleanup.go, and
// the one that calls an Observer in observe.go).
//
// What the lock guards is the type state, whose methods expect it to be held:
// state.go (decisions), state_waiters.go and state_expiry.go. It is made of types
// that know nothing of the engine: table (rows and indexes), queue (the waiters
// of one resource), batches (what is not durable yet), config and clock. The
// publisher passes durable records to watchers under a lock of its own.
package local

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/turns"
	"github.com/leasehold/leasehold/machine"
)

// Remembered is how long the last lease of a resource is known after its end,
// unless the resource is acquired again or too many others end after it.
const Remembered = time.Hour

// Options are the engine's. Nil is fine.
type Options struct {
	// Kind names the store in errors. Default "local".
	Kind string

	// Observer is told of commits. Default: nobody is.
	Observer *Observer

	// Logger gets failures of the journal (Error) and their end (Info). Default:
	// none.
	Logger *slog.Logger
}

// Engine is a leasehold.Store with every optional power but Backuper, and an
// engine.Engine. It owns its journal.
type Engine struct {
	journal   Journal
	publisher *publisher
	lists     *turns.Turns // of List
	feed      *commitFeed  // nil: nobody observes
	log       *slog.Logger

	mu    sync.Mutex
	state // guarded by mu

	lifetime context.Context // of the goroutines
	stop     context.CancelFunc
	running  sync.WaitGroup
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
	_ leasehold.ChildReleaser  = (*Engine)(nil)
	_ leasehold.Historian      = (*Engine)(nil)
	_ leasehold.Cleaner        = (*Engine)(nil)
	_ leasehold.Configurer     = (*Engine)(nil)
	_ leasehold.Watcher        = (*Engine)(nil)
	_ leasehold.BatchWatcher   = (*Engine)(nil)
	_ leasehold.WaitLister     = (*Engine)(nil)
	_ engine.Engine            = (*Engine)(nil)
)

// Open loads the journal and starts the engine. The engine owns the journal
// from then on; if Open fails it closes it.
func Open(ctx context.Context, journal Journal, opts *Options) (*Engine, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	loaded, err := load(ctx, journal)
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	e := &Engine{
		journal:   journal,
		publisher: newPublisher(loaded.Seq),
		lists:     turns.New(listShare, 0),
		feed:      startFeed(o.Observer),
		log:       o.Logger,
		state:     newState(cmp.Or(o.Kind, "local"), journal, loaded),
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.lifetime, e.stop = context.WithCancel(context.Background())
	go e.publisher.run() // until Close
	e.running.Go(e.commitLoop)
	e.running.Go(e.timerLoop)
	e.running.Go(e.sweepLoop)
	return e, nil
}

// Close dismisses waiters, writes and publishes what is pending, and closes the
// journal.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		<-e.publisher.closed
		return nil
	}
	e.closed = true
	e.failInterrupted(e.clock.now())
	e.dismissWaiters()
	e.mu.Unlock()
	e.stop()
	e.running.Wait()
	e.feed.close()
	e.publisher.close()
	return e.journal.Close()
}

var errClosed = errors.New("the store is closed")

// lockReady takes the lock, or returns why nothing can be decided.
func (e *Engine) lockReady() error {
	e.mu.Lock()
	err := e.ready()
	if err != nil {
		e.mu.Unlock()
	}
	return err
}

// execute is the path of every operation on one lease: decide and apply under
// the lock, then wait until that is durable. It refuses an invalid request.
func (e *Engine) execute(ctx context.Context, op, resource string, invalid error, decide func(machine.Instant) machine.Outcome) (machine.Outcome, machine.Instant, error) {
	if invalid != nil {
		return machine.Outcome{}, machine.Instant{}, e.opError(op, resource, invalid)
	}
	d, err := e.decideAndApply(ctx, op, decide)
	if err != nil {
		return machine.Outcome{}, machine.Instant{}, err
	}
	return d.out, d.now, e.awaitDurable(ctx, op, d)
}

// decision is what was decided, and what its answer must wait for.
type decision struct {
	out     machine.Outcome
	now     machine.Instant
	refusal error
	seen    *batch
}

// decideAndApply decides under the lock and queues what must be written.
func (e *Engine) decideAndApply(ctx context.Context, op string, decide func(machine.Instant) machine.Outcome) (d decision, err error) {
	if ctx.Err() != nil {
		return d, e.opError(op, "", unavailable(context.Cause(ctx)))
	}
	if err := e.lockReady(); err != nil {
		return d, e.opError(op, "", err)
	}
	defer e.mu.Unlock()
	d.now = e.clock.now()
	d.out = decide(d.now)
	d.seen = e.apply(d.now, d.out)
	d.refusal = e.refusal(op, d.now, d.out)
	return d, nil
}

// awaitDurable waits until everything the decision has seen is durable, and
// returns its refusal.
func (e *Engine) awaitDurable(ctx context.Context, op string, d decision) error {
	if err := d.seen.durable(ctx); err != nil {
		return e.opError(op, d.out.Row.Resource, err)
	}
	if d.refusal != nil {
		e.publisher.addRefusal(op, d.now, d.out)
	}
	return d.refusal
}

// opError completes an error with the operation, the store and the resource.
func (e *Engine) opError(op, resource string, err error) error {
	x, ok := err.(*leasehold.Error)
	if !ok {
		return err
	}
	full := *x // all requests of a batch may share it
	full.Op, full.Store = op, e.kind
	if full.Resource == "" {
		full.Resource = resource
	}
	return &full
}

// unavailable is the error for decisions that are certainly void.
func unavailable(cause error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: cause}
}

// unknown is the error for decisions that may or may not be durable.
func unknown(cause error) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: cause}
}

// signal wakes the goroutine that reads a channel of one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
