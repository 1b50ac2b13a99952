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

// A loss is reported when it happens, also while every request hangs and nothing
// is called on the lease.
func TestLossIsNoticedWithoutACall(t *testing.T) {
	for _, f := range []chaos.Fault{chaos.Unavailable, chaos.Timeout, chaos.TimeoutUnknown, chaos.LostAnswer} {
		synctest.Test(t, func(t *testing.T) {
			s, _ := faulty(t, chaos.Only(chaos.Always(f), chaos.OpRenew))
			m, log := manage(t, ignoresContext{s}, leasehold.Options{})
			h := hold(t, m, "r")
			start, end := time.Now(), endOf(h)
			time.Sleep(line - 1)
			if _, over := end.happened(); over {
				t.Errorf("%+v: the context ended before the line", f)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			if got := end.since(start); got != line {
				t.Errorf("%+v: the context ended after %v, want %v", f, got, line)
			}
			wantOneLoss(t, log, "r", leasehold.ReasonExpired)
		})
	}
}

// A cancelled caller most of all must be able to release.
func TestReleaseWithACancelledContext(t *testing.T) {
	for name, f := range map[string]chaos.Fault{"healthy": {}, "slow": {Before: time.Second, After: time.Second}, "lossy": chaos.LostAnswer} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, chaos.Only(chaos.Between(1, 1, f), chaos.OpRelease))
				m, _ := manage(t, s, leasehold.Options{})
				ctx, cancel := context.WithCancel(t.Context())
				h, err := m.Acquire(ctx, "r")
				if err != nil {
					t.Fatalf("Acquire(r) = %v, want nil", err)
				}
				cancel()
				wantHeld(t, h) // the lease does not hang on the context that asked for it
				wantError(t, "Release(r)", h.Release(ctx), nil)
				if got := holder(t, inner, "r"); got != "" {
					t.Errorf("holder after Release with a cancelled context = %q, want none", got)
				}
			})
		})
	}
}

// Do keeps the lease while its function runs, however long that takes to notice
// that its context has ended, and releases it then.
func TestNoReleaseWhileTheFunctionRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, chaos.WithProbability(5, 0.2, chaos.LostAnswer))
		m, _ := manage(t, s, leasehold.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		next := &moment{}
		var returned time.Time
		err := m.Do(ctx, "r", func(ctx context.Context, h *leasehold.Held) error {
			next = rival(t, inner, "r")
			time.AfterFunc(time.Minute, cancel)
			<-ctx.Done()
			time.Sleep(10 * ttl) // slow to stop
			synctest.Wait()
			if got := holder(t, inner, "r"); got != m.Holder() {
				t.Errorf("holder while the function runs = %q, want %q", got, m.Holder())
			}
			returned = time.Now()
			return ctx.Err()
		})
		wantError(t, "Do(r)", err, context.Canceled)
		if errors.Is(err, leasehold.ErrLost) {
			t.Errorf("Do(r) = %v, want no loss", err)
		}
		synctest.Wait()
		if got := next.since(returned); got < 0 || got > 5*time.Second {
			t.Errorf("the rival came %v after the function returned, want soon after", got)
		}
	})
}

// Close does not release under a function that still runs either: what it
// cannot wait for is left to expire.
func TestCloseLeavesRunningWorkAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, inner := faulty(t, nil)
		m, _ := manage(t, s, leasehold.Options{})
		working, done := make(chan struct{}), make(chan error)
		go func() {
			done <- m.Do(t.Context(), "r", func(context.Context, *leasehold.Held) error {
				close(working)
				time.Sleep(time.Hour) // ignores its context
				return nil
			})
		}()
		<-working
		next := rival(t, inner, "r")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		if err := m.Close(ctx); err == nil {
			t.Error("Close() = nil, want an error that tells of the work that still runs")
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("Close() took %v, want about what its context allows", took)
		}
		time.Sleep(2 * time.Hour)
		if got := next.since(start); got < ttl-10*time.Second || got > ttl+10*time.Second {
			t.Errorf("the rival came %v after Close, want when the lease has expired", got)
		}
		wantError(t, "Do(r)", <-done, leasehold.ErrLost)
	})
}

// waitUnknown is a store that cannot tell how long a request waited.
type waitUnknown struct{ *chaos.Store }

func (f waitUnknown) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	g, err := f.Store.Wait(ctx, r)
	if g.Waited > 0 {
		g.Waited = leasehold.WaitUnknown
	}
	return g, err
}

// A lease won after a wait of ten ttls, with the answer on its way for a while,
// is alive when Acquire returns it and not relied on for too long: without a
// renewal it ends before the store grants the resource again.
func TestLeaseWonAfterALongWait(t *testing.T) {
	const waits = 10 * ttl
	stores := map[string]func(*chaos.Store) leasehold.Store{
		"waiting time known":   func(s *chaos.Store) leasehold.Store { return s },
		"waiting time unknown": func(s *chaos.Store) leasehold.Store { return waitUnknown{s} },
	}
	for name, store := range stores {
		for _, late := range []time.Duration{0, time.Second, 30 * time.Second, line - time.Second, line + time.Second, ttl + time.Second} {
			t.Run(name+" "+late.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					now := time.Now()
					slow := chaos.During(now, now.Add(waits+ttl), chaos.Always(chaos.LateAnswer(late)))
					s, inner := faulty(t, chaos.Only(slow, chaos.OpWait))
					first := mustAcquire(t, inner, leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Hour})
					time.AfterFunc(waits, func() {
						inner.Release(context.Background(), leasehold.ReleaseRequest{ID: first.ID})
					})
					m, _ := manage(t, store(s), leasehold.Options{})
					h := hold(t, m, "r")
					if err := h.Err(); err != nil {
						t.Fatalf("Err() of a lease just won = %v, want nil", err)
					}
					st, err := inner.Status(t.Context(), "r")
					if err != nil || !st.Check(h.Token()) {
						t.Fatalf("Status(r) = %+v, %v, want the lease just won, token %d", st.Lease, err, h.Token())
					}
					s.SetDown(true)
					end, next := endOf(h), rival(t, inner, "r")
					ends := time.Now().Add(st.Lease.Remaining)
					time.Sleep(2 * ttl)
					ended, over := end.happened()
					if !over || !ended.Before(ends) || next.since(ends) != 0 {
						t.Errorf("the context ended %v before the store's end, the rival came %v after, want more than zero and zero", ends.Sub(ended), next.since(ends))
					}
					if used := ends.Sub(ended); used > ttl/5+5*time.Second+late {
						t.Errorf("the context ended %v before the store's end, want it not to be wasted", used)
					}
				})
			})
		}
	}
}
