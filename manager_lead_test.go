package leasehold

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// office counts who leads.
type office struct {
	t       *testing.T
	leaders atomic.Int32
	last    atomic.Pointer[Held]
	terms   map[string]*atomic.Int32
}

// lead runs a candidate that leads until its context ends.
func (o *office) lead(ctx context.Context, m *Manager, name string) <-chan error {
	done := make(chan error, 1)
	go func() {
		done <- m.Lead(ctx, "office", func(ctx context.Context, h *Held) error {
			o.leaders.Add(1)
			if last := o.last.Swap(h); last != nil && last.Err() == nil {
				o.t.Errorf("%s came into office while another held the lease", name)
			}
			o.terms[name].Add(1)
			<-ctx.Done()
			o.leaders.Add(-1)
			return ctx.Err()
		})
	}()
	return done
}

func (o *office) inOffice() (ann, bob int32) { return o.terms["ann"].Load(), o.terms["bob"].Load() }

func newOffice(t *testing.T) *office {
	return &office{t: t, terms: map[string]*atomic.Int32{"ann": {}, "bob": {}}}
}

// TestLeadHandsOver after Close, and after an outage that only the leader has.
func TestLeadHandsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeQueue{fakeStore: newFakeStore()}
		cut := &partition{Store: s}
		o := newOffice(t)
		first, second := newManager(t, cut, nil), newManager(t, s, nil)
		ann := o.lead(t.Context(), first, "ann")
		time.Sleep(time.Second)
		bob := o.lead(t.Context(), second, "bob")
		time.Sleep(time.Hour)
		if a, b := o.inOffice(); a != 1 || b != 0 {
			t.Fatalf("terms after an hour: ann %d, bob %d, want 1, 0", a, b)
		}

		cut.off.Store(true) // ann cannot reach the store and has to give up before bob starts
		time.Sleep(2 * time.Minute)
		if a, b := o.inOffice(); a != 1 || b != 1 || o.leaders.Load() != 1 {
			t.Fatalf("terms after the outage: ann %d, bob %d, want 1, 1", a, b)
		}
		cut.off.Store(false)
		time.Sleep(time.Hour) // ann campaigns again, and waits

		if err := second.Close(t.Context()); err != nil {
			t.Errorf("Close = %v", err)
		}
		wantErr(t, "bob's Lead", <-bob, ErrUnavailable, errClosed)
		time.Sleep(30 * time.Second) // ann has no queue and asks every now and then
		if a, b := o.inOffice(); a != 2 || b != 1 || o.leaders.Load() != 1 {
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

// TestLeadAfterAPause: the leader's machine sleeps; when it wakes, another leads
// and it has lost.
func TestLeadAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := newFakeHost(t)
		s := &fakeQueue{fakeStore: host.store()}
		o := newOffice(t)
		paused := newManager(t, s, nil)
		clockOffset = func() time.Duration { return 0 } // the other one's machine stays awake
		awake := newManager(t, s, nil)
		o.lead(t.Context(), paused, "ann")
		time.Sleep(time.Second)
		o.lead(t.Context(), awake, "bob")
		time.Sleep(time.Minute)
		host.suspend(2 * time.Minute)
		time.Sleep(wakeInterval) // ann's half second of grace before her context ends
		synctest.Wait()
		if o.leaders.Load() > 1 {
			t.Error("ann still leads half a second after waking")
		}
		time.Sleep(time.Minute)
		if a, b := o.inOffice(); a != 1 || b != 1 {
			t.Errorf("terms: ann %d, bob %d, want 1, 1", a, b)
		}
		paused.Close(t.Context())
		awake.Close(t.Context())
	})
}

// TestLeadGoesOn after fn has returned nil, and after trouble in the campaign.
func TestLeadGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeStore()
		m := newManager(t, s, &Options{AcquireTimeout: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var terms []time.Duration
		start := time.Now()
		err := m.Lead(ctx, "office", func(ctx context.Context, h *Held) error {
			terms = append(terms, time.Since(start))
			switch len(terms) {
			case 2: // the store fails for a while
				time.AfterFunc(time.Minute, func() { s.hook(nil, nil) })
				s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonUnavailable} }, nil)
			case 3: // the lease is lost, and fn says so in its own words
				s.breakLease("office", 0)
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
		err := m.Lead(t.Context(), "office", func(context.Context, *Held) error { return oops })
		if err != oops || s.state("office").State != StateReleased {
			t.Errorf("Lead = %v, the row is %v, want fn's error, released", err, s.state("office").State)
		}
		err = m.Lead(t.Context(), "office", func(ctx context.Context, h *Held) error {
			s.breakLease("office", 0)
			<-h.Context().Done()
			return oops
		})
		wantErr(t, "Lead with a real error and a loss", err, oops, ErrLost)
		err = m.Lead(t.Context(), "office", func(context.Context, *Held) error { return context.Canceled })
		if err != context.Canceled {
			t.Errorf("Lead = %v, want fn's error: its context had not ended", err)
		}
		err = m.Lead(ended(), "office", func(context.Context, *Held) error { return nil })
		wantErr(t, "Lead with an ended context", err, context.Canceled)
		s.hook(func(context.Context, string, string) error { return &Error{Reason: ReasonForbidden} }, nil)
		err = m.Lead(t.Context(), "office", func(context.Context, *Held) error { return nil })
		wantErr(t, "Lead without permission", err, ErrForbidden)
	})
}
