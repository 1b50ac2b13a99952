package local

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// remember makes the engine remember no more than n ended leases of each kind.
func remember(t *testing.T, n int) {
	before := maxEnded
	maxEnded = n
	t.Cleanup(func() { maxEnded = before })
}

// endScoped leaves an ended blob lease behind.
func endScoped(t *testing.T, e *Engine, resource string) {
	t.Helper()
	unlimited := leasehold.Unlimited
	r := leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute, MaxRenewals: &unlimited}
	for _, decide := range []func(v engine.View) machine.Outcome{
		func(v engine.View) machine.Outcome {
			return machine.Acquire(v.Now, r, v.Fresh, []machine.Row{v.Row}, nil, machine.Azure)
		},
		func(v engine.View) machine.Outcome {
			return machine.Break(v.Now, leasehold.BreakRequest{Period: new(time.Duration(0))}, v.Row, machine.Azure)
		},
	} {
		err := e.Do(t.Context(), resource, func(v engine.View) (engine.Decision, error) { return engine.Decision{Outcome: decide(v)}, nil })
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestEndedLeasesAreBounded: the oldest are forgotten, in memory and on disk;
// blob leases neither drive the others out nor are driven out by them.
func TestEndedLeasesAreBounded(t *testing.T) {
	remember(t, 10)
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		live := acquire(t, e, "live", "h", time.Hour)
		endScoped(t, e, "blob:first")
		var ended []leasehold.Grant
		for i := range 50 {
			g := acquire(t, e, fmt.Sprint("r", i), "h", time.Minute)
			release(t, e, g)
			ended = append(ended, g)
		}
		for i := range 15 {
			endScoped(t, e, fmt.Sprint("blob:", i))
		}
		e.inspect(func() {
			if e.table.ended.len != 10 || e.table.scoped.len != 10 || len(e.table.rows) != 21 || len(e.table.ids) != 11 {
				t.Errorf("%d and %d ended of %d rows, %d ids; want 10, 10, 21, 11", e.table.ended.len, e.table.scoped.len, len(e.table.rows), len(e.table.ids))
			}
			checkTable(t, e.table)
		})
		if n := len(d.rows); n != 21 {
			t.Errorf("%d rows on disk, want 21: what is forgotten must not come back", n)
		}
		_, err := e.Find(t.Context(), ended[39].ID)
		wantReason(t, "Find of the eleventh youngest", err, leasehold.ReasonNotFound)
		if _, err := e.Find(t.Context(), ended[40].ID); err != nil {
			t.Errorf("Find of the tenth youngest = %v, want it known", err)
		}
		if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: live.ID}); err != nil {
			t.Errorf("Renew of what lives = %v", err)
		}
	})
}

// TestEndedLeasesBeyondTheBound: a journal of an older program may have more.
// They go two for one, and all at once with a cleanup.
func TestEndedLeasesBeyondTheBound(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for i := range 40 {
			release(t, e, acquire(t, e, fmt.Sprint("r", i), "h", time.Minute))
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		remember(t, 10)
		e = open(t, d)
		defer e.Close()
		release(t, e, acquire(t, e, "more", "h", time.Minute))
		e.inspect(func() {
			if e.table.ended.len != 39 {
				t.Errorf("%d ended after one more, want 39 of 41", e.table.ended.len)
			}
		})
		cleaned, err := e.Cleanup(t.Context())
		if err != nil || cleaned.Forgotten != 29 || len(d.rows) != 10 {
			t.Errorf("Cleanup = %+v, %v, with %d rows on disk; want 29 forgotten, 10 left", cleaned, err, len(d.rows))
		}
	})
}

// TestHealthChecksAreNotLimited: whether leases can be had must be found out
// also while one caller has them all.
func TestHealthChecksAreNotLimited(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		if _, err := e.SetSetting(t.Context(), leasehold.SettingMaxLeases, 0); err != nil {
			t.Fatal(err)
		}
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h"})
		wantReason(t, "Acquire", err, leasehold.ReasonTooMany)
		acquire(t, e, leasehold.HealthPrefix+"1", "h", time.Minute)
	})
}

// TestManyWaitersAtTheLimit: leases that end together, each with a waiter, while
// there are more than may be: the waiters are refused until there is room.
func TestManyWaitersAtTheLimit(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		const n, most = 1000, 10
		var waits []<-chan answer
		for i := range n {
			resource := fmt.Sprint("r", i)
			acquire(t, e, resource, "h", time.Minute)
			waits = append(waits, wait(t.Context(), e, leasehold.AcquireRequest{
				Resource: resource, Holder: "w", TTL: time.Hour, Timeout: leasehold.NoTimeout}))
		}
		if _, err := e.SetSetting(t.Context(), leasehold.SettingMaxLeases, most); err != nil {
			t.Fatal(err)
		}
		granted := 0
		for _, w := range waits {
			switch a := <-w; {
			case a.err == nil:
				granted++
			default:
				wantReason(t, "Wait", a.err, leasehold.ReasonTooMany)
			}
		}
		e.inspect(func() {
			checkTable(t, e.table)
			if granted == 0 || granted > most || e.table.live != granted {
				t.Errorf("%d waiters have a lease, %d are live; want at most %d", granted, e.table.live, most)
			}
		})
	})
}

// TestBlobLeasesCountInAll: they count among all leases, and among no caller's.
func TestBlobLeasesCountInAll(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for key, n := range map[string]int{leasehold.SettingMaxLeases: 2, leasehold.SettingMaxLeasesCaller: 1} {
			if _, err := e.SetSetting(t.Context(), key, n); err != nil {
				t.Fatal(err)
			}
		}
		unlimited := leasehold.Unlimited
		lease := func(resource string) (o machine.Outcome) {
			r := leasehold.AcquireRequest{Resource: resource, Holder: "h", TTL: time.Minute, MaxRenewals: &unlimited}
			err := e.Do(t.Context(), resource, func(v engine.View) (engine.Decision, error) {
				o = machine.Acquire(v.Now, r, v.Fresh, []machine.Row{v.Row}, nil, machine.Azure)
				return engine.Decision{Outcome: o}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return o
		}
		ours := leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Minute, Caller: "token"}
		if _, err := e.Acquire(t.Context(), ours); err != nil {
			t.Fatalf("Acquire = %v", err)
		}
		if o := lease("blob:a"); o.Reason != "" {
			t.Errorf("a blob lease where a caller has all of its own = %q, want it granted", o.Reason)
		}
		if o := lease("blob:b"); o.Reason != leasehold.ReasonTooMany {
			t.Errorf("a blob lease too many = %q, want too_many_leases", o.Reason)
		}
		time.Sleep(time.Minute)
		if o := lease("blob:b"); o.Reason != "" {
			t.Errorf("a blob lease where all others have expired = %q, want it granted", o.Reason)
		}
	})
}
