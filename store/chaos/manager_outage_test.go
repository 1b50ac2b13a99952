package chaos_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
)

// outage is the time during which one resource's calls fail. Each resource has
// its own, so that one bubble can try thousands of them.
type outage struct {
	from, until time.Time
	fault       chaos.Fault
}

// outages is the policy of many outages.
type outages map[string]outage

func (o outages) policy(c chaos.Call) chaos.Fault {
	if w, ok := o[c.Resource]; ok {
		return chaos.During(w.from, w.until, chaos.Always(w.fault))(c)
	}
	return chaos.Fault{}
}

// lengths are outages from a millisecond to three ttls: every second, and
// finely around the one that ends just at the line, if there is a success every
// interval until it begins.
func lengths(begin time.Duration) (all []time.Duration) {
	for d := time.Millisecond; d < time.Second; d *= 2 {
		all = append(all, d)
	}
	for d := time.Second; d <= 3*ttl; d += time.Second {
		all = append(all, d)
	}
	edge := begin/interval*interval + line - begin
	for off := -2 * onTheEdge; off <= onTheEdge; off += 20 * time.Millisecond {
		all = append(all, edge+off)
	}
	return append(all, edge-1, edge+1)
}

// onTheEdge is how near to the line the end of an outage can be without a
// promise that an attempt still fits in between.
const onTheEdge = 400 * time.Millisecond

// Outages of every length and kind, from several moments in a lease's life: one
// that ends before the line loses nothing; a longer one is reported at the line,
// and the rival that takes the resource at the first possible moment always
// comes later.
func TestOutagesOfEveryLength(t *testing.T) {
	slowly := chaos.Fault{Outcome: chaos.Lost, After: 50 * time.Millisecond}
	tests := []struct {
		name  string
		fault chaos.Fault
		begin time.Duration // after the grant
	}{
		{"refused from the grant on", chaos.Unavailable, 0},
		{"refused from a renewal on", chaos.Unavailable, interval},
		{"refused from between two renewals on", chaos.Unavailable, 2*interval + 20*time.Second},
		{"answers lost", slowly, interval - time.Millisecond},
		{"unheard", chaos.Timeout, interval - time.Millisecond},
		{"answers hung", chaos.TimeoutUnknown, interval + 5*time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { checkOutages(t, tt.fault, tt.begin) })
		})
	}
}

func checkOutages(t *testing.T, f chaos.Fault, begin time.Duration) {
	plan := outages{}
	s, inner := faulty(t, chaos.Only(plan.policy, chaos.OpRenew))
	m, log := manage(t, s, leasehold.Options{})
	var trials []trial
	for i, d := range lengths(begin) {
		r := fmt.Sprint("r", i)
		h := hold(t, m, r)
		start := time.Now()
		plan[r] = outage{start.Add(begin), start.Add(begin + d), f}
		trials = append(trials, trial{h, plan[r], endOf(h), rival(t, inner, r)})
	}
	time.Sleep(begin + 5*ttl)
	lost := 0
	for _, tr := range trials {
		if tr.check(t, log, onTheEdge) {
			lost++
		}
	}
	if lost < 50 || lost > len(trials)-20 {
		t.Errorf("%d of %d leases were lost; want both outcomes to be tried", lost, len(trials))
	}
}

// trial is one lease, its outage, and what came of it.
type trial struct {
	h    *leasehold.Held
	o    outage
	end  *moment
	next *moment
}

// check reports whether the lease was lost, and fails unless it had to be or
// could be: the edge is how near to the line an outage may end without a
// promise either way.
func (tr trial) check(t *testing.T, log *eventLog, edge time.Duration) bool {
	t.Helper()
	r, length := tr.h.Resource(), tr.o.until.Sub(tr.o.from)
	ended, over := tr.end.happened()
	granted, taken := tr.next.happened()
	lost := eventsOf[leasehold.Lost](log, r)
	if !over {
		if taken || len(lost) > 0 {
			t.Errorf("outage of %v: held, but the rival has it (%t) and Lost events are %+v", length, taken, lost)
		}
		wantHeld(t, tr.h)
		return false
	}
	// LastSuccess is when the last good request was sent, and the store's own
	// count cannot have begun before.
	if len(lost) != 1 {
		t.Errorf("outage of %v: Lost events = %+v, want one", length, lost)
		return true
	}
	atLine := lost[0].LastSuccess.Add(line)
	if !ended.Equal(atLine) {
		t.Errorf("outage of %v: the context ended %v off the safety line", length, ended.Sub(atLine))
	}
	if tr.o.until.Before(atLine.Add(-edge)) {
		t.Errorf("outage of %v: lost, though it was over %v before the line", length, atLine.Sub(tr.o.until))
	}
	if !taken || !ended.Before(granted) {
		t.Errorf("outage of %v: the context ended at %v, the rival got the resource at %v, want it later", length, ended, granted)
	}
	wantLost(t, tr.h, leasehold.ReasonExpired)
	return true
}

// An outage that cuts the line strikes all leases at once, wherever they stand,
// and the requests that are under way.
func TestOutagesThatCutTheLine(t *testing.T) {
	const (
		latency = 150 * time.Millisecond // one way
		edge    = onTheEdge + 4*latency
	)
	for _, length := range []time.Duration{
		time.Millisecond, time.Second, 10 * time.Second, line - interval - 2*latency - edge - 1,
		line - interval, line - time.Second, line, ttl, ttl + time.Second, 3 * ttl,
	} {
		t.Run(length.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, inner := faulty(t, chaos.Only(chaos.Always(chaos.Fault{Before: latency, After: latency}), chaos.OpRenew))
				m, log := manage(t, s, leasehold.Options{})
				var trials []trial
				for i := range 90 { // one of them has a request under way at any moment
					r := fmt.Sprint("r", i)
					h := hold(t, m, r)
					trials = append(trials, trial{h: h, end: endOf(h), next: rival(t, inner, r)})
					time.Sleep(450 * time.Millisecond)
				}
				from := time.Now()
				s.SetDown(true)
				time.Sleep(length)
				s.SetDown(false)
				o := outage{from: from, until: time.Now()}
				time.Sleep(5 * ttl)
				lost := 0
				for _, tr := range trials {
					tr.o = o
					if tr.check(t, log, edge) {
						lost++
					}
				}
				if length >= line && lost < len(trials) || length < line-interval-2*latency-edge && lost > 0 {
					t.Errorf("%d of %d leases were lost", lost, len(trials))
				}
			})
		})
	}
}
