package chaos_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// A lease that is broken during an outage: the holder learns of it with the
// first answer, and in time if that comes within the period.
func TestBreakDuringAnOutage(t *testing.T) {
	const outageEnds = interval + 2*time.Second
	tests := []struct {
		name   string
		period time.Duration // from the 35th second on
		end    time.Duration // of the context, at the latest
		reason leasehold.Reason
	}{
		{"at once", 0, outageEnds + lastRetry, leasehold.ReasonNotFound}, // the rival's grant made it forgotten
		{"period over before the outage is", 3 * time.Second, outageEnds + lastRetry, leasehold.ReasonNotFound},
		{"period longer than the outage", 20 * time.Second, 55*time.Second - 1, leasehold.ReasonBroken},
		{"period longer than the lease", leasehold.MaxBreakPeriod, ttl - 1, leasehold.ReasonBroken},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, nil)
				m, log := manage(t, s, leasehold.Options{})
				h := hold(t, m, "r")
				start, end, next := time.Now(), endOf(h), rival(t, inner, "r")
				time.Sleep(30 * time.Second)
				s.SetDown(true)
				time.Sleep(5 * time.Second)
				if _, err := inner.Break(t.Context(), leasehold.BreakRequest{Resource: "r", Period: &tt.period}); err != nil {
					t.Fatalf("Break(r) = %v, want nil", err)
				}
				time.Sleep(outageEnds - 35*time.Second)
				s.SetDown(false)
				time.Sleep(2 * ttl)
				wantLost(t, h, tt.reason)
				wantOneLoss(t, log, "r", tt.reason)
				if got := end.since(start); got < outageEnds || got > tt.end {
					t.Errorf("the context ended after %v, want %v to %v", got, outageEnds, tt.end)
				}
				breaking := eventsOf[leasehold.Breaking](log, "r")
				if inTime := tt.period >= 20*time.Second; inTime != (len(breaking) == 1) || inTime && end.since(start) >= next.since(start) {
					t.Errorf("Breaking events %+v, context ended after %v, rival after %v; known in time: %t", breaking, end.since(start), next.since(start), inTime)
				}
			})
		})
	}
}

// The answer to the renewal that found the lease breaking may be lost as well:
// the next one tells.
func TestBreakingWithLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, chaos.Only(chaos.Between(1, 2, chaos.LostAnswer), chaos.OpRenew))
		m, log := manage(t, s, leasehold.Options{})
		h := hold(t, m, "r")
		end, next := endOf(h), rival(t, inner, "r")
		time.Sleep(30 * time.Second)
		period := 25 * time.Second
		if _, err := inner.Break(t.Context(), leasehold.BreakRequest{Resource: "r", Period: &period}); err != nil {
			t.Fatalf("Break(r) = %v, want nil", err)
		}
		broken := time.Now().Add(period)
		time.Sleep(2 * ttl)
		wantOneLoss(t, log, "r", leasehold.ReasonBroken)
		if got := eventsOf[leasehold.Breaking](log, "r"); len(got) != 1 {
			t.Errorf("Breaking events = %+v, want one", got)
		}
		if ended, _ := end.happened(); !ended.Before(broken) || next.since(broken) != 0 {
			t.Errorf("the context ended %v before the period did, the rival came %v after, want more than zero and zero", broken.Sub(ended), next.since(broken))
		}
	})
}

// Release in an outage ends after a deadline of its own; the lease is not
// renewed any more and ends by itself. After the outage it works as ever.
func TestReleaseAndOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		m, log := manage(t, s, leasehold.Options{})
		during, after := hold(t, m, "during"), hold(t, m, "after")
		start, next := time.Now(), rival(t, inner, "during")
		time.Sleep(10 * time.Second)
		s.SetDown(true)
		begin := time.Now()
		wantError(t, "Release(during)", during.Release(t.Context()), leasehold.ErrUnavailable)
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("Release(during) took %v, want a deadline of its own", took)
		}
		time.Sleep(20 * time.Second)
		s.SetDown(false)
		wantError(t, "Release(after)", after.Release(t.Context()), nil)
		if got := holder(t, inner, "after"); got != "" {
			t.Errorf("holder of %q = %q, want none", "after", got)
		}
		time.Sleep(ttl)
		if got := next.since(start); got != ttl {
			t.Errorf("the rival of %q came after %v, want %v", "during", got, ttl)
		}
		released := eventsOf[leasehold.Released](log, "during")
		if len(released) != 1 || released[0].Err == nil {
			t.Errorf("Released events of %q = %+v, want one with its error", "during", released)
		}
	})
}

// A lease that was lost in an outage and released after it touches nobody
// else's.
func TestReleaseAfterALongOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		m, _ := manage(t, s, leasehold.Options{})
		h := hold(t, m, "r")
		rival(t, inner, "r")
		s.SetDown(true)
		time.Sleep(2 * ttl)
		s.SetDown(false)
		for range 2 {
			wantError(t, "Release(r)", h.Release(t.Context()), leasehold.ErrLost)
		}
		if got := holder(t, inner, "r"); got != "rival" {
			t.Errorf("holder after the release = %q, want the rival", got)
		}
	})
}

// Release of a lease that was lost at the line ends it at the store if that can be
// reached again: no waiter has to wait for the ttl.
func TestReleaseBetweenLineAndTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		m, _ := manage(t, s, leasehold.Options{})
		h := hold(t, m, "r")
		start, next := time.Now(), rival(t, inner, "r")
		s.SetDown(true)
		time.Sleep(line + time.Second)
		s.SetDown(false)
		wantLost(t, h, leasehold.ReasonExpired)
		wantError(t, "Release(r)", h.Release(context.Background()), leasehold.ErrLost)
		synctest.Wait()
		if got := next.since(start); got != line+time.Second {
			t.Errorf("the rival came after %v, want %v", got, line+time.Second)
		}
	})
}
