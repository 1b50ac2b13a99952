package chaos_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// The lengths of a lease with the default options: when it is renewed and
// declared lost after the last success, and the longest pause between retries.
const (
	ttl       = time.Minute
	interval  = 40 * time.Second
	line      = 54 * time.Second
	lastRetry = 3500 * time.Millisecond
)

// eventLog records what a Manager reports to its observer.
type eventLog struct {
	mu     sync.Mutex
	events []leasehold.Event
}

func (l *eventLog) note(e leasehold.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

// eventsOf returns the events of one kind about a resource, or about all if it is
// empty.
func eventsOf[E leasehold.Event](l *eventLog, resource string) (found []E) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e, ok := e.(E); ok && (resource == "" || e.Info().Resource == resource) {
			found = append(found, e)
		}
	}
	return found
}

// manage returns a Manager that is closed with the test, and its eventLog.
func manage(t *testing.T, s leasehold.Store, o leasehold.Options) (*leasehold.Manager, *eventLog) {
	t.Helper()
	var l eventLog
	o.Observe = l.note
	m, err := leasehold.NewManager(s, &o)
	if err != nil {
		t.Fatalf("NewManager(…) = %v, want nil", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		m.Close(ctx) // its error does not matter here
	})
	return m, &l
}

func hold(t *testing.T, m *leasehold.Manager, resource string, want ...leasehold.AcquireOptions) *leasehold.Held {
	t.Helper()
	h, err := m.Acquire(t.Context(), resource, want...)
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want nil", resource, err)
	}
	return h
}

// moment is when something happened, if it has.
type moment struct {
	mu sync.Mutex
	at time.Time
}

func (m *moment) now() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = time.Now()
}

func (m *moment) happened() (time.Time, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.at, !m.at.IsZero()
}

// since is how long after start it happened, or -1 if it has not.
func (m *moment) since(start time.Time) time.Duration {
	if at, ok := m.happened(); ok {
		return at.Sub(start)
	}
	return -1
}

// endOf notes when the lease's context ends, without a call on the lease.
func endOf(h *leasehold.Held) *moment {
	var m moment
	context.AfterFunc(h.Context(), m.now)
	return &m
}

// rival waits at the store itself, without faults, so that it gets the resource
// at the first moment at which the store grants it.
func rival(t *testing.T, store leasehold.Waiter, resource string) *moment {
	t.Helper()
	var m moment
	r := leasehold.AcquireRequest{Resource: resource, Holder: "rival", TTL: leasehold.DefaultMaxTTL, Timeout: leasehold.NoTimeout}
	ctx := t.Context()
	go func() {
		if _, err := store.Wait(ctx, r); err == nil {
			m.now()
		}
	}()
	return &m
}

func wantHeld(t *testing.T, h *leasehold.Held) {
	t.Helper()
	if err := h.Err(); err != nil {
		t.Errorf("Err() of %q = %v, want nil", h.Resource(), err)
	}
	if err := context.Cause(h.Context()); err != nil {
		t.Errorf("cause of the context of %q = %v, want none", h.Resource(), err)
	}
}

func wantLost(t *testing.T, h *leasehold.Held, reason leasehold.Reason) {
	t.Helper()
	for what, err := range map[string]error{"Err()": h.Err(), "the context's cause": context.Cause(h.Context())} {
		if !errors.Is(err, leasehold.ErrLost) || leasehold.ReasonOf(err) != reason {
			t.Errorf("%s of %q = %v, want ErrLost, %s", what, h.Resource(), err, reason)
		}
	}
}

// wantOneLoss checks that the loss was reported, once.
func wantOneLoss(t *testing.T, l *eventLog, resource string, reason leasehold.Reason) {
	t.Helper()
	lost := eventsOf[leasehold.Lost](l, resource)
	if len(lost) != 1 || lost[0].Reason != reason {
		t.Errorf("Lost events of %q = %+v, want one, %s", resource, lost, reason)
	}
}
