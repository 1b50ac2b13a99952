package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// LoadOptions are the size of a load. Nil and zero values are the defaults.
type LoadOptions struct {
	Workers   int           // at the same time; zero: 8
	Calls     int           // of each worker; zero: 60
	Resources int           // to contend for; zero: 3
	TTL       time.Duration // of the leases; zero: 10 minutes. Below a minute, leases may end during the test, and the checker allows for it
	Seed      uint64        // of the choices; the same seed makes the same choices
	Waiting   bool          // some acquires wait, where the store can

	// Context ends the load early, as when the store is about to be killed.
	// Nil: the test's.
	Context context.Context
}

func (o *LoadOptions) orDefaults(t testing.TB) LoadOptions {
	var full LoadOptions
	if o != nil {
		full = *o
	}
	full.Workers = or(full.Workers, 8)
	full.Calls = or(full.Calls, 60)
	full.Resources = or(full.Resources, 3)
	full.TTL = or(full.TTL, 10*time.Minute)
	if full.Context == nil {
		full.Context = t.Context()
	}
	return full
}

func or[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// Hammer loads a store with random calls from many goroutines and returns the
// recording, for CheckHistory. No error fails the test: ErrUnavailable and
// ErrUnknown are part of the recording, and the worker repeats the call with the
// same id, as a good client does. A *Recorder goes on with its recording.
func Hammer(t testing.TB, store leasehold.Store, o *LoadOptions) *Recording {
	t.Helper()
	load := o.orDefaults(t)
	rec, ok := store.(*Recorder)
	if !ok {
		rec = Record(store)
	}
	var all sync.WaitGroup
	for i := range load.Workers {
		w := &worker{store: rec, load: load, name: fmt.Sprint("worker-", i), random: rand.New(rand.NewPCG(load.Seed, uint64(i)))}
		all.Go(w.run)
	}
	all.Wait()
	for i := range load.Resources { // the final state
		_, _ = rec.Status(load.Context, resourceName(i))
	}
	return rec.Recording()
}

func resourceName(i int) string { return fmt.Sprint("hammer-", i) }

// worker is one client. It holds at most one lease, and keeps the id of an
// earlier one to try what it is still good for.
type worker struct {
	store  *Recorder
	load   LoadOptions
	name   string
	random *rand.Rand

	lease leasehold.Lease // held, or requested and in doubt
	maybe bool            // the answer to the acquire was lost
	past  leasehold.Lease
}

func (w *worker) run() {
	for range w.load.Calls {
		if w.load.Context.Err() != nil {
			return
		}
		w.call()
	}
}

func (w *worker) call() {
	switch roll := w.random.IntN(100); {
	case roll < 15:
		_, _ = w.store.Status(w.load.Context, w.anywhere())
	case roll < 20:
		_, _ = w.store.Break(w.load.Context, leasehold.BreakRequest{Resource: w.anywhere()})
	case roll < 28 && !w.past.ID.IsZero():
		w.misuse()
	case w.lease.ID.IsZero() || w.maybe:
		w.acquire()
	case roll < 50:
		w.renew()
	case roll < 60:
		w.acquire() // once more
	case roll < 66:
		w.transfer()
	default:
		w.release()
	}
}

func (w *worker) anywhere() string { return resourceName(w.random.IntN(w.load.Resources)) }

// acquire acquires a lease, or once more the one held or in doubt.
func (w *worker) acquire() {
	if w.lease.ID.IsZero() {
		w.lease = leasehold.Lease{Resource: w.anywhere(), Holder: w.name, ID: leasehold.NewID()}
	}
	r := leasehold.AcquireRequest{Resource: w.lease.Resource, Holder: w.lease.Holder, ID: w.lease.ID, TTL: w.load.TTL}
	call := w.store.Acquire
	if w.load.Waiting && w.random.IntN(3) == 0 {
		call, r.Timeout = w.store.Wait, time.Duration(1+w.random.IntN(20))*time.Millisecond
	}
	g, err := call(w.load.Context, r)
	if err == nil {
		w.lease, w.maybe = g.Lease, false
		return
	}
	w.after(err)
}

// after decides what to do about a failed call on the lease.
func (w *worker) after(err error) {
	switch {
	case errors.Is(err, leasehold.ErrUnknown):
		w.maybe = true
	case errors.Is(err, leasehold.ErrUnavailable):
		runtime.Gosched()
	default:
		w.drop()
	}
}

func (w *worker) drop() {
	if w.lease.Token != 0 {
		w.past = w.lease
	}
	w.lease, w.maybe = leasehold.Lease{}, false
}

func (w *worker) renew() {
	_, err := w.store.Renew(w.load.Context, leasehold.RenewRequest{ID: w.lease.ID, Resource: w.lease.Resource})
	if err != nil && !errors.Is(err, leasehold.ErrUnknown) {
		w.after(err)
	}
}

func (w *worker) release() {
	_, err := w.store.Release(w.load.Context, leasehold.ReleaseRequest{ID: w.lease.ID, Resource: w.lease.Resource})
	if errors.Is(err, leasehold.ErrUnknown) || errors.Is(err, leasehold.ErrUnavailable) {
		return // and try again some time
	}
	w.drop()
}

// transfer transfers the lease to a second name of the same worker.
func (w *worker) transfer() {
	to := w.name + "-again"
	if w.lease.Holder == to {
		to = w.name
	}
	next := leasehold.NewID()
	_, err := w.store.Transfer(w.load.Context, leasehold.TransferRequest{ID: w.lease.ID, Resource: w.lease.Resource, To: to, Proposed: next})
	switch {
	case err == nil:
		w.past = w.lease
		w.lease.ID, w.lease.Holder = next, to
	case errors.Is(err, leasehold.ErrUnknown):
		w.lease.ID, w.lease.Holder, w.maybe = next, to, true
	case !errors.Is(err, leasehold.ErrUnavailable) && !errors.Is(err, leasehold.ErrUnsupported):
		w.drop()
	}
}

// misuse uses the id of a lease that has ended.
func (w *worker) misuse() {
	if w.random.IntN(2) == 0 {
		_, _ = w.store.Renew(w.load.Context, leasehold.RenewRequest{ID: w.past.ID, Resource: w.past.Resource})
		return
	}
	_, _ = w.store.Release(w.load.Context, leasehold.ReleaseRequest{ID: w.past.ID, Resource: w.past.Resource})
}
