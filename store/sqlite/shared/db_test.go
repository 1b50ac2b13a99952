package shared

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/sqlite"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/store/sqltx"
	sqlitedb "zombiezen.com/go/sqlite"
)

func openDB(t testing.TB) *db {
	t.Helper()
	d, err := open(t.Context(), filepath.Join(t.TempDir(), "leases.db"), Options{Durability: sqlite.DurabilityNormal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("Close() = %v", err)
		}
	})
	return d
}

// write is a step that writes whatever it finds.
func write(t testing.TB, d *db, w sqltx.Write) sqltx.Done {
	t.Helper()
	done, err := d.Step(t.Context(), sqltx.Need{}, func(sqltx.Found) sqltx.Write { return w })
	if err != nil {
		t.Fatalf("Step() = %v", err)
	}
	return done
}

func row(resource string, state leasehold.State, ends machine.Time) machine.Row {
	return machine.Row{
		Resource: resource, Holder: "h", ID: leasehold.NewID(), State: state, TTL: time.Minute, Ends: ends, MaxRenewals: -1,
	}
}

func base(t testing.TB, d *db) sqltx.Base {
	t.Helper()
	b, err := d.Base(t.Context())
	if err != nil {
		t.Fatalf("Base() = %v", err)
	}
	return b
}

// TestMoveParts: what a move needs of a step.
func TestMoveParts(t *testing.T) {
	d := openDB(t)
	scoped := row("blob:x", leasehold.StateActive, machine.Never)
	scoped.Scoped = true
	write(t, d, sqltx.Write{
		Rows: []machine.Row{
			row("a", leasehold.StateActive, machine.Never), row("b", leasehold.StateReleased, 1),
			row("c", leasehold.StateActive, machine.Never), scoped,
		},
		Settings: map[string]any{leasehold.SettingMaxTTL: int64(7), leasehold.SettingKeepHistory: false},
	})
	write(t, d, sqltx.Write{Token: 500})
	write(t, d, sqltx.Write{Token: 400})
	mark := sqltx.Mark{ID: "m", State: move.Leaving, Peer: "p", Until: 99}
	done := write(t, d, sqltx.Write{Mark: &mark})
	b := base(t, d)
	if b.Live != 2 || b.Ended != 1 || b.Scoped != 1 || b.Token != 500 || b.Records || b.Control.Mark != mark {
		t.Errorf("Base() = %+v", b)
	}
	if b.Control.Version == done.Found.Control.Version {
		t.Errorf("another mark has the version of the one before")
	}
	write(t, d, sqltx.Write{ResetSettings: true, Settings: map[string]any{leasehold.SettingMaxTTL: int64(8)}})
	want := map[string]any{leasehold.SettingMaxTTL: int64(8)}
	if diff := cmp.Diff(want, base(t, d).Control.Settings); diff != "" {
		t.Errorf("the settings (-want +got):\n%s", diff)
	}
	if done := write(t, d, sqltx.Write{Clear: 2}); done.Cleared != 2 {
		t.Errorf("cleared %d rows, want 2", done.Cleared)
	}
	if done := write(t, d, sqltx.Write{Clear: 2}); done.Cleared != 1 {
		t.Errorf("cleared %d rows, want the last", done.Cleared)
	}
	found, err := d.Step(t.Context(), sqltx.Need{Alone: true, Base: true}, func(f sqltx.Found) sqltx.Write { return sqltx.Write{} })
	if err != nil || found.Found.Base.Live+found.Found.Base.Ended != 0 || found.Found.Base.Scoped != 1 {
		t.Errorf("Step() = %+v, %v, want the scoped row alone", found.Found.Base, err)
	}
	rows, _, err := d.List(t.Context(), sqltx.ListQuery{Unscoped: true, Limit: 10})
	if err != nil || len(rows) != 0 {
		t.Errorf("List() of unscoped rows = %v, %v", rows, err)
	}
	if done := write(t, d, sqltx.Write{Grant: true, Rows: []machine.Row{row("d", leasehold.StateActive, machine.Never)}}); done.Token != 501 {
		t.Errorf("token %d after the base of 500", done.Token)
	}
}

// TestForget: old rows go, and the oldest of too many; blob leases of these stay.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDB(t)
		write(t, d, sqltx.Write{Rows: []machine.Row{row("a", leasehold.StateActive, machine.Never)}})
		time.Sleep(time.Hour)
		hour := machine.Time(time.Hour)
		var rows []machine.Row
		for i := range 10 {
			rows = append(rows, row(fmt.Sprint("r", i), leasehold.StateReleased, hour-machine.Time(10-i)))
		}
		rows[0].Scoped = true
		write(t, d, sqltx.Write{Rows: rows})
		for _, c := range []struct {
			age        time.Duration
			keep       int64
			n, removed int
		}{
			{time.Hour, 100, 5, 0}, {time.Hour, 7, 5, 3}, {time.Hour, 6, 5, 1}, {time.Nanosecond, 100, 2, 2}, {0, 100, 100, 4}, {0, 0, 100, 0},
		} {
			n, err := d.Forget(t.Context(), c.age, c.keep, c.n)
			if err != nil || n != c.removed {
				t.Errorf("Forget(%v, %d, %d) = %d, %v, want %d", c.age, c.keep, c.n, n, err, c.removed)
			}
			if c.keep == 6 {
				if f, err := d.Read(t.Context(), sqltx.Need{Resource: "r0"}); err != nil || f.Row.ID.IsZero() {
					t.Errorf("the blob lease is gone: %v", err)
				}
			}
		}
		if f, err := d.Read(t.Context(), sqltx.Need{Resource: "a"}); err != nil || f.Row.ID.IsZero() {
			t.Errorf("a live lease was forgotten: %v", err)
		}
	})
}

// TestPurge: purged records are hidden at once, and deleted by and by.
func TestPurge(t *testing.T) {
	d := openDB(t)
	for range 5 {
		w := sqltx.Write{}
		for range 1000 {
			w.Records = append(w.Records, leasehold.Record{Kind: leasehold.KindAcquired, Resource: "r", At: time.Now()})
			w.Kept = append(w.Kept, true)
		}
		write(t, d, w)
	}
	through, n, err := d.PurgePoint(t.Context(), time.Hour, 100)
	if err != nil || through != 4900 || n != 4900 {
		t.Fatalf("PurgePoint() = %d, %d, %v", through, n, err)
	}
	write(t, d, sqltx.Write{Purged: through}) // which deletes the first thousand
	write(t, d, sqltx.Write{Purged: 10})      // never goes back
	records, oldest, err := d.After(t.Context(), 0, 3)
	if err != nil || oldest != 4901 || len(records) != 3 || records[0].Seq != 4901 {
		t.Errorf("After() = %d records from %d, %v", len(records), oldest, err)
	}
	if last, err := d.Last(t.Context()); last != 5000 || err != nil {
		t.Errorf("Last() = %d, %v", last, err)
	}
	for more, calls := true, 0; more; calls++ {
		if more, err = d.DeletePurged(t.Context(), 1000); err != nil || calls > 5 {
			t.Fatalf("DeletePurged() = %v, %v after %d calls", more, err, calls)
		}
	}
	left := int64(0)
	err = d.read(t.Context(), func(conn *sqlitedb.Conn, h header) error {
		if h.Kept != 100 {
			t.Errorf("%d records are said to be kept, want 100", h.Kept)
		}
		left, err = queryInt(conn, "SELECT count(*) FROM lease_history", nil)
		return err
	})
	if err != nil || left != 100 {
		t.Errorf("%d records are left, %v, want 100", left, err)
	}
}

// TestReaderSavesTheClock: an end that a reader has seen is past for everybody after
// it, whatever their clocks say.
func TestReaderSavesTheClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDB(t)
		done := write(t, d, sqltx.Write{Token: 1})
		ends := done.Found.Now.Clock + machine.Time(time.Second)
		write(t, d, sqltx.Write{Rows: []machine.Row{row("a", leasehold.StateActive, ends)}})
		saved := func() (c machine.Time) {
			err := d.read(t.Context(), func(_ *sqlitedb.Conn, h header) error {
				c = h.Clock
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		time.Sleep(time.Second / 2)
		before := saved()
		if f, err := d.Read(t.Context(), sqltx.Need{Resource: "a"}); err != nil || !f.Row.At(f.Now).State.Locked() || saved() != before {
			t.Errorf("Read() before the end = %v, %v; the clock went from %d to %d", f.Row.State, err, before, saved())
		}
		time.Sleep(time.Second / 2)
		f, err := d.Read(t.Context(), sqltx.Need{Resource: "a"})
		if err != nil || f.Row.At(f.Now).State.Locked() {
			t.Errorf("Read() at the end = %v, %v", f.Row.At(f.Now).State, err)
		}
		if saved() < ends {
			t.Errorf("a reader saw the end at %d, and the clock saved is %d", ends, saved())
		}
	})
}

// TestUntil: nothing is written after its time; it is decided again.
func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := openDB(t)
		calls := 0
		_, err := d.Step(t.Context(), sqltx.Need{Resource: "a"}, func(f sqltx.Found) sqltx.Write {
			calls++
			if calls == 2 {
				return sqltx.Write{}
			}
			time.Sleep(time.Second) // as long as it takes to decide
			return sqltx.Write{Rows: []machine.Row{row("a", leasehold.StateActive, machine.Never)}, Until: f.Now.Clock + machine.Time(time.Second)}
		})
		if err != nil || calls != 2 {
			t.Errorf("Step() = %v after %d decisions, want two", err, calls)
		}
	})
}

// TestStepsShareACommit: what waits at the same time is committed together, in order,
// and each sees those before it.
func TestStepsShareACommit(t *testing.T) {
	d := openDB(t)
	commits := 0
	d.commit = func(w *dbfile.Writer) error {
		commits++
		return w.Commit()
	}
	d.turn <- struct{}{} // so that they wait
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			_, err := d.Step(t.Context(), sqltx.Need{Resource: "a"}, func(f sqltx.Found) sqltx.Write {
				next := row("a", leasehold.StateActive, machine.Never)
				next.Renewals = f.Row.Renewals + 1
				return sqltx.Write{Rows: []machine.Row{next}, Settings: map[string]any{fmt.Sprint("k", i): int64(len(f.Control.Settings))}}
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	for waiting := 0; waiting < 10; time.Sleep(time.Millisecond) {
		d.queue.mu.Lock()
		waiting = len(d.queue.steps)
		d.queue.mu.Unlock()
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error)
	go func() {
		_, err := d.Step(ctx, sqltx.Need{}, func(sqltx.Found) sqltx.Write { return sqltx.Write{Token: 99} })
		gone <- err
	}()
	cancel()
	if err := <-gone; leasehold.ReasonOf(err) != leasehold.ReasonUnavailable || !errors.Is(err, context.Canceled) {
		t.Errorf("Step() of one that left = %v", err)
	}
	<-d.turn
	all.Wait()
	f, err := d.Read(t.Context(), sqltx.Need{Resource: "a"})
	if err != nil || f.Row.Renewals != 10 || len(f.Control.Settings) != 10 {
		t.Errorf("after ten steps: %d, %d settings, %v", f.Row.Renewals, len(f.Control.Settings), err)
	}
	if commits != 1 || base(t, d).Token != 0 {
		t.Errorf("%d commits, token %d", commits, base(t, d).Token)
	}
}
