package chaos_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// transients are the failures that say nothing about the lease.
var transients = []chaos.Fault{
	chaos.Unavailable,
	chaos.LostAnswer,
	chaos.Timeout,
	chaos.TimeoutUnknown,
	chaos.Delay(2 * time.Second),
	chaos.LateAnswer(2 * time.Second),
	{Before: time.Second, Outcome: chaos.Refused},
	{Outcome: chaos.Lost, After: time.Second},
}

// intermittent lets up to most renewals of a resource fail in a row, of changing
// number and kind, and then one succeed.
type intermittent struct {
	most  int
	seed  uint64
	mu    sync.Mutex
	calls map[string]*run
}

type run struct{ left, total int }

func (s *intermittent) policy(c chaos.Call) chaos.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.calls[c.Resource]
	if r == nil {
		r = &run{}
		s.calls[c.Resource] = r
	}
	if r.left == 0 {
		r.total++
		r.left = s.pick(c.Resource, r.total, s.most+1)
		return chaos.Fault{}
	}
	r.left--
	return transients[s.pick(c.Resource, r.total+r.left, len(transients))]
}

// pick is a number below n that depends on the seed, the resource and i alone.
func (s *intermittent) pick(resource string, i, n int) int {
	x := s.seed
	for _, b := range fmt.Sprint(resource, i) {
		x = (x ^ uint64(b)) * 0x100000001b3
	}
	return int(x >> 33 % uint64(n))
}

// Hours of intermittent errors of every kind lose no lease: a transient error
// is never a loss.
func TestIntermittentErrorsForHours(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const leases = 20
				trouble := &intermittent{most: 3, seed: seed, calls: map[string]*run{}}
				s, inner := faulty(t, chaos.Only(trouble.policy, chaos.OpRenew))
				m, log := manage(t, s, leasehold.Options{})
				var held []*leasehold.Held
				for i := range leases {
					held = append(held, hold(t, m, fmt.Sprint("r", i)))
				}
				time.Sleep(3 * time.Hour)
				for _, h := range held {
					wantHeld(t, h)
					if st, err := inner.Status(t.Context(), h.Resource()); err != nil || !st.Check(h.Token()) {
						t.Errorf("the store has given %q away", h.Resource())
					}
				}
				failed, renewed := eventsOf[leasehold.RenewalFailed](log, ""), eventsOf[leasehold.Renewed](log, "")
				if len(failed) < 100*leases || len(renewed) < 200*leases {
					t.Errorf("%d renewals failed, %d succeeded: that is not hours of trouble", len(failed), len(renewed))
				}
				if lost := eventsOf[leasehold.Lost](log, ""); len(lost) > 0 {
					t.Errorf("%d leases were lost, the first %+v", len(lost), lost[0])
				}
			})
		})
	}
}

// One transient renewal error, of any kind, is not a loss.
func TestOneTransientErrorIsNoLoss(t *testing.T) {
	for _, f := range transients {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := faulty(t, chaos.Only(chaos.Between(1, 1, f), chaos.OpRenew))
				m, log := manage(t, s, leasehold.Options{})
				h := hold(t, m, "r")
				time.Sleep(2 * ttl)
				wantHeld(t, h)
				if lost := eventsOf[leasehold.Lost](log, "r"); len(lost) > 0 {
					t.Errorf("Lost events = %+v, want none", lost)
				}
				if f.Outcome == chaos.Answered {
					return
				}
				failed := eventsOf[leasehold.RenewalFailed](log, "r")
				if len(failed) != 1 || !failed[0].WillRetry || failed[0].Attempt != 1 {
					t.Errorf("RenewalFailed events = %+v, want one that will be retried", failed)
				}
			})
		})
	}
}

// However the time between the first attempt and the line was spent, here by
// requests that hang, another attempt is made while some of it is left.
func TestRetriesGoOnToTheLine(t *testing.T) {
	for hung := 1; hung <= 4; hung++ {
		t.Run(fmt.Sprint(hung, " hung"), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := faulty(t, chaos.Only(chaos.Between(1, hung, chaos.Timeout), chaos.OpRenew))
				m, _ := manage(t, s, leasehold.Options{})
				h := hold(t, m, "r")
				time.Sleep(2 * ttl)
				wantHeld(t, h)
			})
		})
	}
}

// One transient error of a call of one's own is no loss either.
func TestOneTransientErrorOfRenewIsNoLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := faulty(t, chaos.Only(chaos.Between(1, 1, chaos.Unavailable), chaos.OpRenew))
		m, _ := manage(t, s, leasehold.Options{NoAutoRenew: true})
		h := hold(t, m, "r")
		time.Sleep(line - time.Second)
		wantError(t, "first Renew(r)", h.Renew(t.Context()), leasehold.ErrUnavailable)
		wantHeld(t, h)
		wantError(t, "second Renew(r)", h.Renew(t.Context()), nil)
		time.Sleep(line - time.Second)
		wantHeld(t, h)
		time.Sleep(time.Second)
		wantLost(t, h, leasehold.ReasonExpired)
	})
}
