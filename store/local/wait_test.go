package local

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

// A waiter's proposed id is granted elsewhere while it waits: it is refused, and
// the next one is served.
func TestWaiterWhoseIDIsUsedElsewhere(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", time.Hour)
		id := leasehold.NewID()
		first := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id})
		second := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "c"})
		if _, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "b", ID: id}); err != nil {
			t.Fatal(err)
		}
		release(t, e, g)
		wantReason(t, "the first waiter", (<-first).err, leasehold.ReasonIDInUse)
		if a := <-second; a.err != nil {
			t.Errorf("the second waiter got %v", a.err)
		}
	})
}

func TestPositionOfAnotherHolderIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		id := leasehold.NewID()
		wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id})
		_, err := e.Wait(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "thief", ID: id})
		wantReason(t, "Wait with another's id", err, leasehold.ReasonIDInUse)
	})
}

// A client that waits and acquires beside it gets one lease, not two.
func TestAcquireBesideOwnWait(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		// The resource can be free while the position exists only if the position
		// is reserved.
		id := leasehold.NewID()
		g := acquire(t, e, "r", "a", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		w := wait(ctx, e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id})
		cancel()
		<-w
		release(t, e, g)
		if _, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(e.queues) != 0 {
			t.Error("the reserved position outlived its lease")
		}
	})
}

func TestGrantSupersedesAPresentWaiter(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		id := leasehold.NewID()
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id})
		err := e.Do(t.Context(), "r", func(v engine.View) (engine.Decision, error) {
			// A module hands the waiter's id out itself.
			row := v.Row
			row.ID, row.Holder, row.Token = id, "b", v.Fresh.Token
			return engine.Decision{Outcome: machine.Outcome{Row: row, Granted: true,
				Steps: []machine.Step{{Row: row, Before: v.Row.State, Kind: leasehold.KindTransferred}}}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		wantReason(t, "the waiter", (<-w).err, leasehold.ReasonSuperseded)
	})
}

// A client that comes back and leaves again has its position reserved for another
// half minute, and does not prolong the reservations of others.
func TestReservedPositionsEndOnTime(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		again, once := leasehold.NewID(), leasehold.NewID()
		cancelWait := func(holder string, id leasehold.ID) {
			ctx, cancel := context.WithCancel(t.Context())
			w := wait(ctx, e, leasehold.AcquireRequest{Resource: "r", Holder: holder, ID: id})
			cancel()
			<-w
		}
		kept := func(id leasehold.ID) (yes bool) {
			e.inspect(func() { yes = e.queues["r"] != nil && e.queues["r"].byID[id] != nil })
			return yes
		}
		cancelWait("b", again)
		time.Sleep(10 * time.Second)
		cancelWait("c", once)
		time.Sleep(10 * time.Second)
		cancelWait("b", again)
		time.Sleep(leasehold.KeptPlace - 10*time.Second + time.Millisecond)
		if kept(once) || !kept(again) {
			t.Errorf("after 30 s: kept(once) = %v, kept(again) = %v, want false, true", kept(once), kept(again))
		}
		time.Sleep(10 * time.Second)
		if kept(again) {
			t.Error("a position was reserved for more than 30 s")
		}
	})
}

// A wait that may go on when the store closes has failed by then.
func TestCloseRecordsInterruptedWaits(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: leasehold.NewID(), Timeout: time.Second})
		wantReason(t, "the wait", (<-w).err, leasehold.ReasonTimeout)
		if got := d.kinds("r"); len(got) != 1 {
			t.Errorf("history %v right after the wait, want only the grant: it may go on", got)
		}
		e.Close()
		want := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindFailed}
		if got := d.kinds("r"); !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
	})
}
