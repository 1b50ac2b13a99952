package chaos_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// ignoresContext is a store whose renewals ignore the caller's context: their answers
// come, however late.
type ignoresContext struct{ *chaos.Store }

func (d ignoresContext) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	return d.Store.Renew(context.WithoutCancel(ctx), r)
}

// An answer that comes in time is a success; one that comes at the line or
// after it brings nothing back, though the store did renew.
func TestLateRenewals(t *testing.T) {
	for _, late := range []time.Duration{
		0, time.Second, line - interval - time.Millisecond, // in time
		line - interval, line - interval + time.Millisecond, ttl - interval, ttl, 10 * ttl,
	} {
		t.Run(late.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, chaos.Only(chaos.Between(1, 1, chaos.LateAnswer(late)), chaos.OpRenew))
				m, log := manage(t, ignoresContext{s}, leasehold.Options{})
				h := hold(t, m, "r")
				start, end, next := time.Now(), endOf(h), rival(t, inner, "r")
				time.Sleep(20 * ttl)
				if interval+late < line {
					wantHeld(t, h)
					return
				}
				wantLost(t, h, leasehold.ReasonExpired)
				wantOneLoss(t, log, "r", leasehold.ReasonExpired)
				if got := end.since(start); got != line {
					t.Errorf("the context ended after %v, want %v", got, line)
				}
				if got, want := next.since(start), interval+ttl; got != want {
					t.Errorf("the rival got the resource after %v, want %v, when the late renewal ends", got, want)
				}
			})
		})
	}
}

// A renewal that is slow to reach the store, or whose answer is slow, counts
// from when it was sent: whatever the delays, the context ends before the store
// gives the resource away.
func TestDeadlineCountsFromBeforeTheRequest(t *testing.T) {
	const after = 5 // renewals, then silence
	for _, before := range []time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		for _, back := range []time.Duration{0, 100 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
			t.Run(fmt.Sprint(before, back), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, inner := faulty(t, func(c chaos.Call) chaos.Fault {
						if c.Op == chaos.OpRenew && c.N > after {
							return chaos.Unavailable
						}
						return chaos.Fault{Before: before, After: back}
					})
					m, log := manage(t, ignoresContext{s}, leasehold.Options{})
					h := hold(t, m, "r")
					end, next := endOf(h), rival(t, inner, "r")
					time.Sleep(10 * ttl)
					wantOneLoss(t, log, "r", leasehold.ReasonExpired)
					lost, _ := end.happened()
					granted, ok := next.happened()
					if !ok || !lost.Before(granted) {
						t.Errorf("the context ended at %v, the rival got the resource at %v, want it later", lost, granted)
					}
					renewed := eventsOf[leasehold.Renewed](log, "r")
					last := renewed[len(renewed)-1]
					if sent := last.Time.Add(-last.Took); !lost.Equal(sent.Add(line)) {
						t.Errorf("the context ended %v after the last success was sent, want %v", lost.Sub(sent), line)
					}
				})
			})
		}
	}
}
