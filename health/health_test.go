package health_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// check runs one on a memory store with faults.
func check(t *testing.T, p chaos.Policy, o *health.Options) (health.Report, *chaos.Store) {
	t.Helper()
	inner := memory.New()
	t.Cleanup(func() { inner.Close() })
	s := chaos.Wrap(inner, &chaos.Options{Policy: p})
	return health.Check(t.Context(), s, o), s
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		name    string
		policy  chaos.Policy
		options *health.Options
		want    health.Report
		err     error
	}{
		{"healthy", nil, nil, health.Report{Status: health.Healthy}, nil},
		{"slow", chaos.Only(chaos.Always(chaos.Delay(1100*time.Millisecond)), chaos.OpAcquire), nil,
			health.Report{Status: health.Degraded, Duration: 1100 * time.Millisecond, Reason: "the store is slow"}, nil},
		{"slow by option", chaos.Always(chaos.Delay(100 * time.Millisecond)), &health.Options{Slow: 150 * time.Millisecond, Store: "redis"},
			health.Report{Status: health.Degraded, Store: "redis", Duration: 200 * time.Millisecond, Reason: "the store is slow"}, nil},
		{"down for a moment", chaos.Only(chaos.Between(1, 2, chaos.Unavailable), chaos.OpAcquire), nil,
			health.Report{Status: health.Degraded, Duration: 150 * time.Millisecond, Reason: "an attempt failed before one succeeded"}, leasehold.ErrUnavailable},
		{"an answer is lost", chaos.Only(chaos.Between(1, 1, chaos.LostAnswer), chaos.OpAcquire), nil,
			health.Report{Status: health.Degraded, Duration: 50 * time.Millisecond, Reason: "an attempt failed before one succeeded"}, leasehold.ErrUnknown},
		{"the answer of the release is lost", chaos.Only(chaos.Between(1, 1, chaos.LostAnswer), chaos.OpRelease), nil,
			health.Report{Status: health.Degraded, Duration: 50 * time.Millisecond, Reason: "an attempt failed before one succeeded"}, leasehold.ErrUnknown},
		{"down", chaos.Always(chaos.Unavailable), nil,
			health.Report{Status: health.Unhealthy, Duration: 5 * time.Second, Reason: "no lease could be acquired"}, leasehold.ErrUnavailable},
		{"hangs", chaos.Always(chaos.Delay(time.Hour)), &health.Options{Timeout: 2 * time.Second},
			health.Report{Status: health.Unhealthy, Duration: 2 * time.Second, Reason: "no lease could be acquired"}, context.DeadlineExceeded},
		{"cannot release", chaos.Only(chaos.Always(chaos.Unavailable), chaos.OpRelease), nil,
			health.Report{Status: health.Degraded, Duration: 5 * time.Second, Reason: "the lease could not be released"}, leasehold.ErrUnavailable},
		{"refused", nil, &health.Options{TTL: -5, Store: "memory"},
			health.Report{Status: health.Unhealthy, Store: "memory", Reason: "the store refused the lease"}, leasehold.ErrInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				started := time.Now()
				got, _ := check(t, c.policy, c.options)
				if !got.Time.Equal(started) {
					t.Errorf("Time = %v, want %v", got.Time, started)
				}
				if (got.Err == nil) != (c.err == nil) || !errors.Is(got.Err, c.err) {
					t.Errorf("Err = %v, want %v", got.Err, c.err)
				}
				if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(health.Report{}, "Time", "Err"), cmpopts.IgnoreFields(health.Report{}, ignored(c.want)...)); diff != "" {
					t.Errorf("report -want +got:\n%s", diff)
				}
			})
		})
	}
}

// ignored names the store where the case does not say which: then it comes from
// the error.
func ignored(want health.Report) []string {
	if want.Store == "" {
		return []string{"Store"}
	}
	return nil
}

// TestLeavesNothingBehind: the lease is released, also after a lost answer, and has
// the name, holder and ttl of the options.
func TestLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := check(t, chaos.Only(chaos.Between(1, 1, chaos.LostAnswer), chaos.OpAcquire), &health.Options{Name: "probe", Holder: "me", TTL: 20 * time.Second})
		status, err := s.Status(t.Context(), "probe")
		if err != nil || status.Lease == nil {
			t.Fatalf("Status = %v, %v; want a lease that has ended", status, err)
		}
		if l := status.Lease; l.State != leasehold.StateReleased || l.Holder != "me" || l.TTL != 20*time.Second || l.Token != 1 {
			t.Errorf("the lease = %+v, want it released, the only one, of me for 20 s", l)
		}
	})
}

// TestHeldByAnotherCheck is as good as a lease.
func TestHeldByAnotherCheck(t *testing.T) {
	s := memory.New()
	defer s.Close()
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: leasehold.HealthPrefix + ":leasing", Holder: "other"}); err != nil {
		t.Fatal(err)
	}
	got := health.Check(t.Context(), s, nil)
	if got.Status != health.Healthy || got.Reason != "" || got.Err != nil {
		t.Errorf("Check = %+v, want healthy", got)
	}
}

// TestStoreByItsError: the report names the store if the error does.
func TestStoreByItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memory.New()
		s.Close()
		got := health.Check(t.Context(), s, nil)
		var e *leasehold.Error
		if !errors.As(got.Err, &e) || got.Store != e.Store || got.Status != health.Unhealthy {
			t.Errorf("Check of a closed store = %+v (%v)", got, got.Err)
		}
	})
}

// TestEndedContext: whoever ended it gets the answer at once.
func TestEndedContext(t *testing.T) {
	s := memory.New()
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := health.Check(ctx, chaos.Wrap(s, nil), nil); got.Status != health.Unhealthy {
		t.Errorf("Check = %+v, want unhealthy", got)
	}
}
