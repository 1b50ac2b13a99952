package local

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
)

// Every answer waits for what it has seen: no refusal and no read tells of a
// grant whose commit then fails.
func TestVoidDecisionsAreNeverAnswered(t *testing.T) {
	id, kept, released := leasehold.NewID(), leasehold.NewID(), leasehold.NewID()
	refused := errors.New("refused because of what it saw")
	for name, call := range map[string]func(ctx context.Context, e *Engine) error{
		"refusal of Do": func(ctx context.Context, e *Engine) error {
			return e.Do(ctx, "r", func(engine.View) (engine.Decision, error) { return engine.Decision{}, refused })
		},
		"Look": func(ctx context.Context, e *Engine) error {
			return e.Look(ctx, []string{"other", "r"}, func(int, engine.View) {})
		},
		"Look at what is gone": func(ctx context.Context, e *Engine) error {
			return e.Look(ctx, []string{"forgotten"}, func(int, engine.View) {})
		},
		"Names": func(ctx context.Context, e *Engine) error {
			_, err := e.Names(ctx, "r")
			return err
		},
		"List": func(ctx context.Context, e *Engine) error {
			_, err := e.List(ctx, leasehold.ListRequest{})
			return err
		},
		"Status": func(ctx context.Context, e *Engine) error {
			_, err := e.Status(ctx, "r")
			return err
		},
		"Status of what is gone": func(ctx context.Context, e *Engine) error {
			_, err := e.Status(ctx, "forgotten")
			return err
		},
		"Status of a name whose set is gone": func(ctx context.Context, e *Engine) error {
			_, err := e.Status(ctx, "in a set")
			return err
		},
		"id in use": func(ctx context.Context, e *Engine) error {
			_, err := e.Acquire(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "b", ID: id})
			return err
		},
		"id in use, waiting": func(ctx context.Context, e *Engine) error {
			_, err := e.Wait(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "b", ID: id})
			return err
		},
		"id to change to in use": func(ctx context.Context, e *Engine) error {
			_, err := e.Change(ctx, leasehold.ChangeRequest{ID: kept, Proposed: id})
			return err
		},
		"id released": func(ctx context.Context, e *Engine) error {
			_, err := e.Acquire(ctx, leasehold.AcquireRequest{Resource: "other", Holder: "b", ID: released})
			return err
		},
		"force-release of nobody": func(ctx context.Context, e *Engine) error {
			_, err := e.ReleaseHolder(ctx, "a", "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, e *Engine, d *disk) {
				for resource, id := range map[string]leasehold.ID{"kept": kept, "ended": released, "forgotten": leasehold.NewID()} {
					r := leasehold.AcquireRequest{Resource: resource, Holder: "z", ID: id, TTL: time.Hour}
					if _, err := e.Acquire(t.Context(), r); err != nil {
						t.Fatal(err)
					}
				}
				set := mustAcquire(t, e, claim("z", leasehold.Resources("in a set", "another")...))
				d.set(func(d *disk) { d.slowness = time.Second })
				d.failNext(unwritten)
				go e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", ID: id, TTL: time.Hour})
				go e.Release(t.Context(), leasehold.ReleaseRequest{ID: released})
				go e.Release(t.Context(), leasehold.ReleaseRequest{ID: set.ID})
				go e.Do(t.Context(), "forgotten", func(engine.View) (engine.Decision, error) { return engine.Decision{Forget: true}, nil })
				time.Sleep(time.Millisecond)
				wantReason(t, name, call(t.Context(), e), leasehold.ReasonUnavailable)
			})
		})
	}
}

// A read of rows that no commit under way changes is answered at once.
func TestUnrelatedReadsDoNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "held", "a", time.Hour)
		d.set(func(d *disk) { d.slowness = time.Second })
		go e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: time.Hour})
		time.Sleep(time.Millisecond)
		began := time.Now()
		if err := e.Look(t.Context(), []string{"held", "free"}, func(int, engine.View) {}); err != nil || time.Since(began) > 0 {
			t.Errorf("Look = %v after %v, want it at once", err, time.Since(began))
		}
	})
}

// A list that continues after a recovery must not return what it saw before.
func TestSeenBatchesMustAllBeDurable(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		lost, made := newBatch(1), newBatch(2)
		lost.finish(errDisk)
		made.finish(nil)
		var seen seenBatches
		for _, b := range []*batch{lost, lost, nil, made, nil} {
			seen.add(b)
		}
		if err := seen.durable(t.Context()); err != errDisk || len(seen) != 2 {
			t.Errorf("durable of %d batches = %v, want 2 and the first one's error", len(seen), err)
		}
	})
}

// Health-check leases leave no history, and so no commit: a wait for one ends all
// the same.
func TestWaitForAHealthCheckEnds(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		resource := leasehold.HealthPrefix + "x"
		acquire(t, e, resource, "a", leasehold.Infinite) // which has no clock saved either
		began := time.Now()
		_, err := e.Wait(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: "b", Timeout: time.Second})
		wantReason(t, "Wait", err, leasehold.ReasonTimeout)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("it took %v, want a second", waited)
		}
	})
}

// A disk that does not answer, and then the engine closes: the waits are over,
// though nobody knows when the disk will be.
func TestCloseEndsWaitsThoughTheDiskHangs(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", 3*time.Hour)
		d.set(func(d *disk) { d.slowness = 2 * time.Hour })
		go e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		synctest.Wait()
		waits := map[string]<-chan answer{
			"a wait":                wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", Timeout: leasehold.NoTimeout}),
			"a wait that timed out": wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "c", Timeout: time.Second}),
			"a wait with an id":     wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "d", ID: leasehold.NewID(), Timeout: time.Hour}),
		}
		time.Sleep(2 * time.Second)
		go e.Close()
		synctest.Wait()
		for name, w := range waits {
			select {
			case a := <-w:
				var refusal *leasehold.Error
				if !errors.As(a.err, &refusal) || refusal.Current != nil {
					t.Errorf("%s = %v, want a refusal that tells nothing of the renewal under way", name, a.err)
				}
			default:
				t.Errorf("%s did not end with the engine", name)
			}
		}
		time.Sleep(3 * time.Hour)
	})
}

// A wait that times out in an outage does not last until the disk is back.
func TestTimeoutInAnOutage(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		began := time.Now()
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", Timeout: time.Second})
		d.failNext(unwritten)
		d.set(func(d *disk) { d.failLoads = 60 })
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "other", Holder: "a"})
		wantReason(t, "Acquire", err, leasehold.ReasonUnknown)
		wantReason(t, "the wait", (<-w).err, leasehold.ReasonTimeout)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("it took %v, want a second", waited)
		}
		time.Sleep(2 * time.Minute)
		want := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindFailed}
		if got := d.kinds("r"); !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
	})
}

// A long queue is copied in steps: other requests do not wait for all of it.
func TestStatusOfALongQueue(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		const n = 4*stepSize + 7
		e.mu.Lock()
		for i := range n {
			r := leasehold.AcquireRequest{Resource: "r", Holder: "w", Priority: i % 3, TTL: time.Minute, Timeout: leasehold.NoTimeout}
			e.enqueue(e.clock.now(), r)
		}
		if got := len(e.queues["r"].after(nil)); got != stepSize {
			t.Errorf("one hold of the lock lists %d waiters, want %d", got, stepSize)
		}
		e.mu.Unlock()
		s, err := e.Status(t.Context(), "r")
		if err != nil || len(s.Waiters) != n {
			t.Fatalf("Status = %d waiters, %v; want %d", len(s.Waiters), err, n)
		}
		for i, p := range s.Waiters {
			if p.Position != i+1 || i > 0 && p.Priority > s.Waiters[i-1].Priority {
				t.Fatalf("position %d is %+v after %+v", i, p, s.Waiters[max(0, i-1)])
			}
		}
	})
}
