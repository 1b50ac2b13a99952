package chaos_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// Each fault does what it says: to the caller, to the store, and in time.
func TestFault(t *testing.T) {
	const patience = 10 * time.Second // of the caller
	tests := []struct {
		name     string
		fault    chaos.Fault
		want     error
		gaveUp   bool // the error carries the cause of the context's end
		happened bool
		took     time.Duration
	}{
		{name: "none", fault: chaos.Fault{}, happened: true},
		{name: "unavailable", fault: chaos.Unavailable, want: leasehold.ErrUnavailable},
		{name: "slowly unavailable", fault: chaos.Fault{Before: time.Second, Outcome: chaos.Refused, After: time.Second},
			want: leasehold.ErrUnavailable, took: 2 * time.Second},
		{name: "unavailable, told too late", fault: chaos.Fault{Outcome: chaos.Refused, After: time.Minute},
			want: leasehold.ErrUnknown, gaveUp: true, took: patience},
		{name: "lost answer", fault: chaos.LostAnswer, want: leasehold.ErrUnknown, happened: true},
		{name: "lost answer, told late", fault: chaos.Fault{Outcome: chaos.Lost, After: time.Second},
			want: leasehold.ErrUnknown, happened: true, took: time.Second},
		{name: "timeout", fault: chaos.Timeout, want: leasehold.ErrUnknown, gaveUp: true, took: patience},
		{name: "timeout with the write done", fault: chaos.TimeoutUnknown,
			want: leasehold.ErrUnknown, gaveUp: true, happened: true, took: patience},
		{name: "delay", fault: chaos.Delay(time.Second), happened: true, took: time.Second},
		{name: "delay beyond the caller's patience", fault: chaos.Delay(time.Minute),
			want: leasehold.ErrUnknown, gaveUp: true, took: patience},
		{name: "late answer", fault: chaos.LateAnswer(time.Second), happened: true, took: time.Second},
		{name: "answer beyond the caller's patience", fault: chaos.LateAnswer(time.Minute),
			want: leasehold.ErrUnknown, gaveUp: true, happened: true, took: patience},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, chaos.Always(tt.fault))
				enough := errors.New("enough")
				ctx, cancel := context.WithTimeoutCause(t.Context(), patience, enough)
				defer cancel()
				start := time.Now()
				g, err := s.Acquire(ctx, request("r", "h"))
				wantError(t, "Acquire(r)", err, tt.want)
				if errors.Is(err, enough) != tt.gaveUp {
					t.Errorf("Acquire(r) = %v, carries the context's cause: want %t", err, tt.gaveUp)
				}
				if (g.Token != 0) != (tt.want == nil) {
					t.Errorf("Acquire(r) has token %d beside %v", g.Token, err)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("Acquire(r) took %v, want %v", took, tt.took)
				}
				if got := holder(t, inner, "r") == "h"; got != tt.happened {
					t.Errorf("Acquire(r) happened: %t, want %t", got, tt.happened)
				}
			})
		})
	}
}

// The delays lie on the two sides of the decision: the store's clock starts a
// ttl after the first and before the second.
func TestDelaysAroundTheDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, chaos.Always(chaos.Fault{Before: 7 * time.Second, After: 5 * time.Second}))
		g := mustAcquire(t, s, request("r", "h"))
		if g.Remaining != time.Minute {
			t.Errorf("Acquire(r).Remaining = %v, want %v: it is what the store said", g.Remaining, time.Minute)
		}
		st, err := inner.Status(t.Context(), "r")
		if err != nil || st.Lease.Remaining != 55*time.Second {
			t.Errorf("Status(r).Remaining = %v, %v, want 55s", st.Lease.Remaining, err)
		}
	})
}

// The store's own refusals come through unchanged, and a lost one looks
// like a lost success.
func TestRefusalsComeThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, chaos.Between(2, 2, chaos.LostAnswer))
		mustAcquire(t, inner, request("r", "other"))
		_, err := s.Acquire(t.Context(), request("r", "h"))
		var e *leasehold.Error
		if !errors.As(err, &e) || e.Reason != leasehold.ReasonHeld || e.Current.Holder != "other" {
			t.Errorf("Acquire(r) = %v, want the store's own refusal", err)
		}
		_, err = s.Acquire(t.Context(), request("r", "h"))
		wantError(t, "Acquire(r) with its answer lost", err, leasehold.ErrUnknown)
	})
}

// Without a fault, the store itself refuses a context that has ended.
func TestEndedContextReachesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, want := inner.Status(ctx, "r")
		_, got := s.Status(ctx, "r")
		if leasehold.ReasonOf(got) != leasehold.ReasonOf(want) {
			t.Errorf("Status(r) = %v, want %v", got, want)
		}
	})
}
