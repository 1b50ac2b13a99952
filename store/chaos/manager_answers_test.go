package chaos_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// With the first answers lost, the Manager ends up with the one lease that the
// lost answers were about.
func TestAcquireWithLostAnswers(t *testing.T) {
	type call = func(*leasehold.Manager, context.Context, string, ...leasehold.AcquireOptions) (*leasehold.Held, error)
	for fault, f := range map[string]chaos.Fault{"lost": chaos.LostAnswer, "hung": chaos.TimeoutUnknown} {
		for what, acquire := range map[string]call{"TryAcquire": (*leasehold.Manager).TryAcquire, "Acquire": (*leasehold.Manager).Acquire} {
			t.Run(what+" "+fault, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, inner := faulty(t, chaos.Only(chaos.Between(1, 1, f), chaos.OpAcquire, chaos.OpWait))
					m, _ := manage(t, s, leasehold.Options{TTL: 5 * ttl}) // longer than one wait in the queue
					h, err := acquire(m, t.Context(), "r")
					if err != nil {
						t.Fatalf("%s(r) = %v, want nil", what, err)
					}
					if h.Token() != 1 {
						t.Errorf("%s(r) has token %d, want 1: the lease that the lost answer was about", what, h.Token())
					}
					wantHeld(t, h)
					if err := h.Release(t.Context()); err != nil {
						t.Errorf("Release(r) = %v, want nil", err)
					}
					if got := holder(t, inner, "r"); got != "" {
						t.Errorf("holder after Release = %q, want none", got)
					}
				})
			})
		}
	}
}

// A caller that gives up while the answer is lost leaves no lease behind.
func TestAbandonedAcquireLeavesNoLease(t *testing.T) {
	for _, op := range []chaos.Op{chaos.OpAcquire, chaos.OpWait} {
		synctest.Test(t, func(t *testing.T) {
			s, inner := faulty(t, chaos.Only(chaos.Always(chaos.TimeoutUnknown), op))
			m, _ := manage(t, s, leasehold.Options{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			acquire := m.Acquire
			if op == chaos.OpAcquire {
				acquire = m.TryAcquire
			}
			h, err := acquire(ctx, "r")
			if h != nil || err == nil {
				t.Fatalf("%s(r) = %v, want an error", op, err)
			}
			time.Sleep(5 * time.Second) // much less than the ttl
			if got := holder(t, inner, "r"); got != "" {
				t.Errorf("holder after the caller of %s gave up = %q, want none", op, got)
			}
		})
	}
}

// Many answers in a row get lost on the way to a queue that is long.
func TestQueueWithLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, chaos.Only(chaos.Between(1, 5, chaos.LostAnswer), chaos.OpWait))
		first := mustAcquire(t, inner, leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Hour})
		m, _ := manage(t, s, leasehold.Options{})
		time.AfterFunc(30*time.Minute, func() {
			inner.Release(context.Background(), leasehold.ReleaseRequest{ID: first.ID})
		})
		start := time.Now()
		h := hold(t, m, "r")
		if got := time.Since(start); got < 30*time.Minute || got > 40*time.Minute {
			t.Errorf("Acquire(r) took %v, want soon after 30m", got)
		}
		wantHeld(t, h)
		if h.Token() != 2 {
			t.Errorf("token = %d, want 2: no grant may be wasted", h.Token())
		}
	})
}

// A renewal whose answer is lost has happened; the Manager asks again and goes
// on, for as long as some answer comes through.
func TestRenewWithLostAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, func(c chaos.Call) chaos.Fault {
			if c.Op == chaos.OpRenew && c.N%4 != 0 {
				return chaos.LostAnswer
			}
			return chaos.Fault{}
		})
		m, log := manage(t, s, leasehold.Options{})
		h := hold(t, m, "r")
		time.Sleep(3 * time.Hour)
		wantHeld(t, h)
		if got := holder(t, inner, "r"); got != m.Holder() {
			t.Errorf("holder after 3h = %q, want %q", got, m.Holder())
		}
		if lost, failed := eventsOf[leasehold.Lost](log, "r"), eventsOf[leasehold.RenewalFailed](log, "r"); len(lost) > 0 || len(failed) < 200 {
			t.Errorf("%d Lost, %d RenewalFailed events, want 0 and some hundred", len(lost), len(failed))
		}
	})
}

// A release whose answer is lost is repeated, and "released already" is then
// good news.
func TestReleaseWithLostAnswers(t *testing.T) {
	for name, f := range map[string]chaos.Fault{
		"lost": chaos.LostAnswer, "hung": chaos.TimeoutUnknown, "unheard": chaos.Timeout, "refused": chaos.Unavailable,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, chaos.Only(chaos.Between(1, 1, f), chaos.OpRelease))
				m, log := manage(t, s, leasehold.Options{})
				h := hold(t, m, "r")
				for range 2 { // it is idempotent
					if err := h.Release(t.Context()); err != nil {
						t.Errorf("Release(r) = %v, want nil", err)
					}
				}
				if got := holder(t, inner, "r"); got != "" {
					t.Errorf("holder after Release = %q, want none", got)
				}
				synctest.Wait()
				released := eventsOf[leasehold.Released](log, "r")
				if len(released) != 1 || released[0].Err != nil {
					t.Errorf("Released events = %+v, want one without an error", released)
				}
			})
		})
	}
}

// Release gives up after a deadline of its own when no answer comes at all, and
// says that it does not know.
func TestReleaseWithoutAnyAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, chaos.Only(chaos.Always(chaos.Timeout), chaos.OpRelease))
		m, _ := manage(t, s, leasehold.Options{})
		h := hold(t, m, "r")
		start, end, next := time.Now(), endOf(h), rival(t, inner, "r")
		err := h.Release(context.Background())
		wantError(t, "Release(r)", err, leasehold.ErrUnknown)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("Release(r) took %v, want a deadline of its own", took)
		}
		if got := end.since(start); got != 0 {
			t.Errorf("the context ended %v after Release began, want at once", got)
		}
		time.Sleep(2 * ttl)
		if got := next.since(start); got != ttl {
			t.Errorf("the rival got the resource after %v, want %v: a lease in doubt is not renewed", got, ttl)
		}
	})
}
