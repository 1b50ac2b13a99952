package chaos_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/memory"
)

// faulty returns a memory store behind faults, and the store itself, which shows
// what really happened.
func faulty(t *testing.T, p chaos.Policy) (*chaos.Store, *local.Engine) {
	t.Helper()
	inner := memory.New()
	s := chaos.Wrap(inner, &chaos.Options{Policy: p})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return s, inner
}

// request is a request for a lease of a minute, safe to repeat.
func request(resource, holder string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: resource, Holder: holder, ID: leasehold.NewID(), TTL: time.Minute}
}

func mustAcquire(t *testing.T, s leasehold.Store, r leasehold.AcquireRequest) leasehold.Grant {
	t.Helper()
	g, err := s.Acquire(t.Context(), r)
	if err != nil {
		t.Fatalf("Acquire(%q) = %v, want nil", r.Resource, err)
	}
	return g
}

// holder returns who holds the resource, or "".
func holder(t *testing.T, s leasehold.Store, resource string) string {
	t.Helper()
	st, err := s.Status(context.Background(), resource)
	if err != nil {
		t.Fatalf("Status(%q) = %v, want nil", resource, err)
	}
	if !st.Locked() {
		return ""
	}
	return st.Lease.Holder
}

func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if want == nil && err != nil || !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}
