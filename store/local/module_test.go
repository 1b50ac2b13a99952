package local

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

func statement(sql string) []engine.Statement { return []engine.Statement{{SQL: sql}} }

func TestDoCommitsTheLeaseAndTheExtrasTogether(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		id := leasehold.NewID()
		acquire := func(v engine.View) (engine.Decision, error) {
			r := leasehold.AcquireRequest{Resource: "blob:a", Holder: "azure:x", ID: id, TTL: time.Minute, MaxRenewals: new(leasehold.Unlimited)}
			out := machine.Acquire(v.Now, r, v.Fresh, []machine.Row{v.Row}, nil, machine.Azure)
			return engine.Decision{Outcome: out, Extras: statement("insert")}, nil
		}
		if err := e.Do(t.Context(), "blob:a", acquire); err != nil {
			t.Fatalf("Do = %v", err)
		}
		synctest.Wait()
		if len(d.extras) != 1 || d.rows["blob:a"].ID != id {
			t.Errorf("on disk: extras %v, row %+v", d.extras, d.rows["blob:a"])
		}
		_, err := e.Find(t.Context(), id)
		wantReason(t, "Find of a scoped id", err, leasehold.ReasonNotFound)

		d.failNext(unwritten)
		err = e.Do(t.Context(), "blob:a", func(engine.View) (engine.Decision, error) {
			return engine.Decision{Forget: true, Extras: statement("delete")}, nil
		})
		wantReason(t, "Do on a failing disk", err, leasehold.ReasonUnavailable)
		synctest.Wait()
		if len(d.extras) != 1 || len(d.rows) != 1 {
			t.Errorf("a void decision left extras %v and %d rows", d.extras, len(d.rows))
		}
	})
}

func TestDoWithAnErrorWritesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		mine := errors.New("not so")
		err := e.Do(t.Context(), "r", func(engine.View) (engine.Decision, error) {
			return engine.Decision{Extras: statement("insert")}, mine
		})
		if err != mine {
			t.Errorf("Do = %v, want the function's own error", err)
		}
		wantReason(t, "Do on no resource", e.Do(t.Context(), "", nil), leasehold.ReasonInvalid)
		if err := e.Do(t.Context(), "r", func(engine.View) (engine.Decision, error) { return engine.Decision{}, nil }); err != nil {
			t.Errorf("Do that decides nothing = %v", err)
		}
		synctest.Wait()
		if d.commits != 0 {
			t.Errorf("%d commits, want none", d.commits)
		}
	})
}

func TestForgetServesWaiters(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", TTL: time.Minute})
		forget := func(engine.View) (engine.Decision, error) { return engine.Decision{Forget: true}, nil }
		if err := e.Do(t.Context(), "r", forget); err != nil {
			t.Fatal(err)
		}
		if a := <-w; a.err != nil {
			t.Errorf("the waiter got %v", a.err)
		}
		synctest.Wait()
		if row := d.rows["r"]; row.Holder != "b" {
			t.Errorf("on disk: %+v, want b's lease", row) // deleted and written in one batch
		}
	})
}

func TestGuardedWriteMakesAvailable(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Second)
		time.Sleep(2 * time.Second)
		write := func(v engine.View) (engine.Decision, error) {
			return engine.Decision{Outcome: machine.Guard(v.Now, leasehold.ID{}, machine.Write, v.Row)}, nil
		}
		for range 2 { // the second finds nothing to forget
			if err := e.Do(t.Context(), "r", write); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if len(d.rows) != 0 || len(e.table.rows) != 0 {
			t.Errorf("rows on disk %v", d.rows)
		}
	})
}

func TestQueryNeedsAQuerier(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		err := e.Query(t.Context(), "SELECT 1", nil, nil)
		wantReason(t, "Query", err, leasehold.ReasonUnsupported)
	})
}

func TestLookShowsRows(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "held", "a", time.Minute)
		var states []leasehold.State
		err := e.Look(t.Context(), []string{"free", "held"}, func(i int, v engine.View) {
			if i != len(states) {
				t.Errorf("Look showed row %d after %d others", i, len(states))
			}
			states = append(states, v.Row.At(v.Now).State)
		})
		if err != nil || len(states) != 2 || states[0] != leasehold.StateAvailable || states[1] != leasehold.StateActive {
			t.Errorf("Look = %v, %v; want available, active", states, err)
		}
	})
}

func TestNamesInSteps(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		const n = 2*stepSize + 7
		for i := range n {
			acquire(t, e, fmt.Sprintf("blob:a/c/%06d", i), "a", time.Minute)
		}
		acquire(t, e, "blob:a/d", "a", time.Minute)
		names, err := e.Names(t.Context(), "blob:a/c/")
		if err != nil || len(names) != n || !slices.IsSorted(names) || len(slices.Compact(names)) != n {
			t.Errorf("Names = %d names, %v; want %d, sorted and distinct", len(names), err, n)
		}
		if names, err = e.Names(t.Context(), "blob:b"); err != nil || len(names) != 0 {
			t.Errorf("Names of a free prefix = %v, %v", names, err)
		}
	})
}

func TestModuleCallsAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		e.Close()
		wantReason(t, "Look", e.Look(t.Context(), []string{"r"}, nil), leasehold.ReasonUnavailable)
		_, err := e.Names(t.Context(), "r")
		wantReason(t, "Names", err, leasehold.ReasonUnavailable)
	})
}
