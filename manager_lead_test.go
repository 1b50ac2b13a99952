package leasehold

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// election counts who leads.
type election struct {
	t       *testing.T
	leaders atomic.Int32
	last    atomic.Pointer[Held]
	terms   map[string]*atomic.Int32
}

// lead runs a candidate that leads until its context ends.
func (e *election) lead(ctx context.Context, m *Manager, name string) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- m.Lead(ctx, "leader", func(ctx context.Context, h *Held) error {
			e.leaders.Add(1)
			if last := e.last.Swap(h); last != nil && last.Err() == nil {
				e.t.Errorf("%s led while another held the lease", name)
			}
			e.terms[name].Add(1)
			<-ctx.Done()
			e.leaders.Add(-1)
			return ctx.Err()
		})
	}()
	return done
}

func (e *election) termsSoFar() (ann, bob int32) { return e.terms["ann"].Load(), e.terms["bob"].Load() }

func newElection(t *testing.T) *election {
	return &election{t: t, terms: map[string]*atomic.Int32{"ann": {}, "bob": {}}}
}

// TestLeadPassesOn after Close, and after an outage that only the leader has.
func TestLeadPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeQueue{fakeStore: newFakeStore()}
		cut := &partition{Store: s}
		e := newElection(t)
		first, second := newManager(t, cut, nil), newManager(t, s, nil)
		ann := e.lead(t.Context(), first, "ann")
		time.Sleep(time.Second)
		bob := e.lead(t.Context(), second, "bob")
		time.Sleep(time.Hour)
		if a, b := e.termsSoFar(); a != 1 || b != 0 {
			t.Fatalf("terms after an hour: ann %d, bob %d, want 1, 0", a, b)
		}

		cut.off.Store(true) // ann cannot reach the store and must stop before bob starts
		time.Sleep(2 * time.Minute)
		if a, b := e.termsSoFar(); a != 1 || b != 1 || e.leaders.Load() != 1 {
			t.Fatalf("terms after the outage: ann %d, bob %d, want 1, 1", a, b)
		}
		cut.off.Store(false)
		time.Sleep(time.Hour) // ann waits again

		if err := second.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		wantErr(t, "bob's Lead", <-bob, ErrUnavailable, errClosed)
		time.Sleep(30 * time.Second) // ann has no queue and polls
		if a, b := e.termsSoFar(); a != 2 || b != 1 || e.leaders.Load() != 1 {
			t.Fatalf("terms after bob closed: ann %d, bob %d, want 2, 1", a, b)
		}
		first.Close(t.Context())
		wantErr(t, "ann's Lead", <-ann, errClosed)
	})
}

// partition cuts a Manager off from its store.
type partition struct {
	Store
	off atomic.Bool
}

func (p *partition) check() error {
	if p.off.Load() {
		return &Error{Reason: ReasonUnavailable}
	}
	return nil
}

func (p *partition) Acquire(ctx context.Context, r AcquireRequest) (Grant, error) {
	if err := p.check(); err != nil {
		return Grant{}, err
	}
	return p.Store.Acquire(ctx, r)
}

func (p *partition) Renew(ctx context.Context, r RenewRequest) (Lease, error) {
	if err := p.check(); err != nil {
		return Lease{}, err
	}
	return p.Store.Renew(ctx, r)
}

func (p *partition) Release(ctx context.Context, r ReleaseRequest) (Lease, error) {
	if err := p.check(); err != nil {
		return Lease{}, err
	}
	return p.Store.Release(ctx, r)
}

// TestLeadAfterSuspend: the leader's machine is suspended; when it resumes, another
// leads and it has lost.
func TestLeadAfterSuspend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t)
		s := &fakeQueue{fakeStore: host.store()}
		e := newElection(t)
		paused := newManager(t, s, nil)
		clockOffset = func() time.Duration { return 0 } // the other machine is not suspended
		awake := newManager(t, s, nil)
		e.lead(t.Context(), paused, "ann")
		time.Sleep(time.Second)
		e.lead(t.Context(), awake, "bob")
		time.Sleep(time.Minute)
		host.suspend(2 * time.Minute)
		time.Sleep(wakeInterval) // until ann's context ends
		synctest.Wait()
		if e.leaders.Load() > 1 {
			t.Error("ann still leads half a second after resuming")
		}
		time.Sleep(time.Minute)
		if a, b := e.termsSoFar(); a != 1 || b != 1 {
			t.Errorf("terms: ann %d, bob %d, want 1, 1", a, b)
		}
		paused.Close(t.Context())
		awake.Close(t.Context())
	})
}

// TestLeadRepeats after fn has returned nil, and after failures of the store.
func TestLeadRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{AcquireTimeout: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var terms []time.Duration
		start := time.Now()
		err := m.Lead(ctx, "leader", func(ctx context.Context, h *Held) error {
			terms = append(terms, time.Since(start))
			switch len(terms) {
			case 2: // the store fails for a while
				time.AfterFunc(time.Minute, func() { s.hook(nil, nil) })
				s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }, nil)
			case 3: // the lease is lost, and fn wraps that
				s.breakLease("leader", 0)
				<-ctx.Done()
				return errors.Join(errors.New("could not finish"), context.Cause(ctx))
			case 4:
				cancel()
			}
			return nil
		})
		wantErr(t, "Lead", err, context.Canceled)
		if len(terms) != 4 {
			t.Fatalf("terms began at %v, want four", terms)
		}
		if pause := terms[1] - terms[0]; pause < firstLeadPause/2 || pause > firstLeadPause {
			t.Errorf("the second term began %v after the first, want about a second", pause)
		}
		if gap := terms[2] - terms[1]; gap < time.Minute || gap > 2*time.Minute {
			t.Errorf("the third term began %v after the second, want soon after a minute", gap)
		}
	})
}

func TestLeadEnds(t *testing.T) {
	oops := errors.New("oops")
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		err := m.Lead(t.Context(), "leader", func(context.Context, *Held) error { return oops })
		if err != oops || s.state("leader").State != StateReleased {
			t.Errorf("Lead = %v, the row is %v, want fn's error, released", err, s.state("leader").State)
		}
		err = m.Lead(t.Context(), "leader", func(ctx context.Context, h *Held) error {
			s.breakLease("leader", 0)
			<-h.Context().Done()
			return oops
		})
		wantErr(t, "Lead with a real error and a loss", err, oops, ErrLost)
		err = m.Lead(t.Context(), "leader", func(context.Context, *Held) error { return context.Canceled })
		if err != context.Canceled {
			t.Errorf("Lead = %v, want fn's error: its context had not ended", err)
		}
		err = m.Lead(ended(), "leader", func(context.Context, *Held) error { return nil })
		wantErr(t, "Lead with an ended context", err, context.Canceled)
		s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonForbidden} }, nil)
		err = m.Lead(t.Context(), "leader", func(context.Context, *Held) error { return nil })
		wantErr(t, "Lead without permission", err, ErrForbidden)
	})
}

// key is for values in contexts.
type key struct{}

func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, nil)
		oops := errors.New("oops")
		for _, want := range []error{nil, oops} {
			ctx := context.WithValue(t.Context(), key{}, "value")
			err := m.Do(ctx, "a", func(ctx context.Context, h *Held) error {
				time.Sleep(10 * time.Minute)
				wantHeld(t, h)
				if ctx.Err() != nil || ctx.Value(key{}) != "value" || h.Context() != ctx {
					t.Errorf("fn's context: %v, value %v, want alive and its caller's", ctx.Err(), ctx.Value(key{}))
				}
				if s.state("a").State != StateActive {
					t.Errorf("the row is %v while fn runs", s.state("a").State)
				}
				return want
			})
			if err != want { // as it is, not wrapped
				t.Errorf("Do = %v, want %v", err, want)
			}
			if s.state("a").State != StateReleased {
				t.Errorf("the row is %v after Do, want released", s.state("a").State)
			}
		}
	})
}

// TestDoLosesTheLease: the loss is reported even if fn did not mind, and nothing
// is released while fn still runs.
func TestDoLosesTheLease(t *testing.T) {
	oops := errors.New("oops")
	for _, fnErr := range []error{nil, oops} {
		synctest.Test(t, func(t *testing.T) {
			s := newFakeStore()
			m := newManager(t, s, nil)
			running := false
			s.hook(func(ctx context.Context, op, _ string) error {
				switch {
				case op == "renew":
					return &Error{Reason: ReasonUnavailable}
				case op == "release" && running:
					t.Error("the lease was released while fn ran")
				}
				return nil
			}, nil)
			err := m.Do(t.Context(), "a", func(ctx context.Context, h *Held) error {
				running = true
				<-ctx.Done()
				wantErr(t, "the cause", context.Cause(ctx), ErrLost)
				time.Sleep(5 * time.Second) // fn takes its time to stop
				running = false
				return fnErr
			})
			wantErr(t, "Do", err, ErrLost)
			if fnErr != nil {
				wantErr(t, "Do", err, oops)
			}
			if s.state("a").State != StateReleased {
				t.Errorf("the row is %v after Do, want released: it was still ours", s.state("a").State)
			}
		})
	}
}

// TestDoReportsALossFoundByTheRelease: the store says so only when it is released.
func TestDoReportsALossFoundByTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		err := newManager(t, s, nil).Do(t.Context(), "a", func(context.Context, *Held) error {
			s.breakLease("a", 0)
			return nil
		})
		wantErr(t, "Do", err, ErrLost)
	})
}

// TestDoWithoutRelease: the work is done; that the store is down is another matter.
func TestDoWithoutRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		err := newManager(t, s, nil).Do(t.Context(), "a", func(context.Context, *Held) error {
			s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }, nil)
			return nil
		})
		if err != nil {
			t.Errorf("Do = %v, want nil", err)
		}
	})
}

func TestDoReleasesAfterAPanic(t *testing.T) {
	for name, end := range map[string]func(){"panic": func() { panic("oops") }, "Goexit": runtime.Goexit} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newFakeStore()
				m := newManager(t, s, nil)
				var recovered any
				done := make(chan struct{})
				go func() {
					defer close(done)
					defer func() { recovered = recover() }()
					m.Do(t.Context(), "a", func(context.Context, *Held) error {
						defer func() {
							if s.state("a").State != StateActive {
								t.Error("released before fn had unwound")
							}
						}()
						end()
						return nil
					})
				}()
				<-done
				if name == "panic" && recovered != "oops" {
					t.Errorf("recovered %v, want the panic to pass", recovered)
				}
				if s.state("a").State != StateReleased {
					t.Errorf("the row is %v, want released", s.state("a").State)
				}
				if err := m.Close(t.Context()); err != nil {
					t.Errorf("Close = %v", err)
				}
			})
		})
	}
}

// TestDoIsCancelled: fn's context ends, and the lease is released all the
// same.
func TestDoIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		ctx, cancel := context.WithCancel(t.Context())
		err := newManager(t, s, nil).Do(ctx, "a", func(ctx context.Context, h *Held) error {
			cancel()
			<-ctx.Done()
			if err := h.Err(); err != nil {
				t.Errorf("Err() = %v, want nil: the lease is held until fn has returned", err)
			}
			time.Sleep(2 * time.Minute)
			return ctx.Err()
		})
		if err != context.Canceled || s.state("a").State != StateReleased {
			t.Errorf("Do = %v, the row is %v, want fn's error, released", err, s.state("a").State)
		}
		err = newManager(t, s, nil).Do(ctx, "a", func(context.Context, *Held) error { t.Error("fn ran"); return nil })
		wantErr(t, "Do with an ended context", err, context.Canceled)
	})
}

// TestDoReleasedEarly: fn may release the lease itself.
func TestDoReleasedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		err := newManager(t, s, nil).Do(t.Context(), "a", func(ctx context.Context, h *Held) error {
			return h.Release(ctx)
		})
		if err != nil || s.count("release") != 1 {
			t.Errorf("Do = %v after %d releases, want nil after 1", err, s.count("release"))
		}
	})
}
