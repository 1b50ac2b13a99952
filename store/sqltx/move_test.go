package sqltx

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
)

var moveOptions = move.Options{From: "test:a", To: "test:b", Batch: 2}

// Leases go to another store with their ids, ends and settings; afterwards only that
// one grants, and its tokens are larger.
func TestMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := open(t, newSwappingDB()), open(t, newMemoryDB())
		if _, err := from.SetSetting(t.Context(), leasehold.SettingMaxRenewals, 5); err != nil {
			t.Fatal(err)
		}
		var held []leasehold.Lease
		for i := range 5 {
			held = append(held, acquire(t, from, fmt.Sprint("r", i)).Lease)
		}
		forever := request("forever")
		forever.TTL = leasehold.Infinite
		g, err := from.Acquire(t.Context(), forever)
		must(t, err)
		if _, err := from.Release(t.Context(), leasehold.ReleaseRequest{ID: held[0].ID}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		if _, err := move.Run(t.Context(), from, to, moveOptions); err != nil {
			t.Fatalf("Run = %v, want the leases moved", err)
		}
		for _, l := range held[1:] {
			got, err := to.Find(t.Context(), l.ID)
			if err != nil || got.Remaining != 40*time.Second || got.Token != l.Token {
				t.Errorf("Find on the target = %+v, %v; want 40s left of token %d", got, err, l.Token)
			}
		}
		if got, err := to.Find(t.Context(), g.ID); err != nil || got.Remaining != leasehold.Infinite {
			t.Errorf("Find of a lease without an end = %v, %v", got.Remaining, err)
		}
		if got := acquire(t, to, "new"); got.Token <= g.Token || got.MaxRenewals != 5 {
			t.Errorf("a grant of the target has token %d and limit %d, want more than %d and 5", got.Token, got.MaxRenewals, g.Token)
		}
		_, err = from.Acquire(t.Context(), request("again"))
		reason(t, "Acquire on the source", err, leasehold.ReasonUnavailable)
		if err == nil || !strings.Contains(err.Error(), "moved to test:b") {
			t.Errorf("the source says %v, want where the leases are", err)
		}
		_, err = from.Status(t.Context(), "r1")
		reason(t, "Status on the source", err, leasehold.ReasonUnavailable)
		_, err = from.ReleaseHolder(t.Context(), "h", "")
		reason(t, "ReleaseHolder on the source", err, leasehold.ReasonUnavailable)
		if _, err := move.Run(t.Context(), to, from, move.Options{From: "test:b", To: "test:a"}); err != nil {
			t.Errorf("Run back = %v, want the leases moved", err)
		}
	})
}

// While leases are leaving the source only answers reads. If the mover dies it opens
// by itself, for good.
func TestLeavingRunsOut(t *testing.T) {
	for name, database := range map[string]func() DB{
		"step": func() DB { return newMemoryDB() },
		"swap": func() DB { return newSwappingDB() },
	} {
		synctest.Test(t, func(t *testing.T) {
			s := open(t, database())
			g := acquire(t, s, "r")
			leaving := move.Mark{ID: "m", State: move.Leaving, Peer: "test:b", Lasts: 30 * time.Second}
			must(t, s.SwapMoveMark(t.Context(), move.Mark{}, leaving))
			_, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
			reason(t, name+": Renew", err, leasehold.ReasonUnavailable)
			if status, err := s.Status(t.Context(), "r"); err != nil || !status.Locked() {
				t.Errorf("%s: Status = %+v, %v; want the lease shown", name, status, err)
			}
			if mark, err := s.MoveMark(t.Context()); err != nil || mark.State != move.Leaving || mark.Lasts != 30*time.Second {
				t.Errorf("%s: MoveMark = %+v, %v", name, mark, err)
			}
			time.Sleep(31 * time.Second)
			if mark, err := s.MoveMark(t.Context()); err != nil || mark.State != move.Open || mark.ID != "m" {
				t.Errorf("%s: MoveMark = %+v, %v; want it open", name, mark, err)
			}
			err = s.SwapMoveMark(t.Context(), leaving, move.Mark{ID: "m", State: move.Left})
			if !errors.Is(err, move.ErrMarkChanged) {
				t.Errorf("%s: SwapMoveMark after its end = %v, want ErrMarkChanged", name, err)
			}
			if name == "step" {
				if _, err := s.SetSetting(t.Context(), leasehold.SettingMaxLeases, 5); err != nil {
					t.Errorf("SetSetting = %v, want success", err)
				}
			}
			if _, err := s.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
				t.Errorf("%s: Renew = %v, want success", name, err)
			}
			f, err := s.db.Read(t.Context(), Need{})
			if err != nil || f.Control.Mark.State != move.Open {
				t.Errorf("%s: the mark is %+v, %v; want it open for good", name, f.Control.Mark, err)
			}
		})
	}
}

// A target that is in use is refused, whatever it has.
func TestTargetInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		arriving := move.Mark{ID: "m", State: move.Arriving}
		for want, fill := range map[string]func(d *memoryDB, s *Store){
			"1 leases":        func(_ *memoryDB, s *Store) { acquire(t, s, "r") },
			"tokens up to 17": func(d *memoryDB, _ *Store) { d.token = 17 },
			"a history":       func(d *memoryDB, _ *Store) { d.seq = 3 },
		} {
			d := newMemoryDB()
			s := open(t, d)
			fill(d, s)
			var used *move.InUseError
			if err := s.SwapMoveMark(t.Context(), move.Mark{}, arriving); !errors.As(err, &used) || !strings.Contains(used.Why, want) {
				t.Errorf("SwapMoveMark = %v, want it in use: %s", err, want)
			}
			if why, err := s.InUse(t.Context()); err != nil || !strings.Contains(why, want) {
				t.Errorf("InUse = %q, %v; want %s", why, err, want)
			}
		}
		s := open(t, newMemoryDB())
		if err := s.Import(t.Context(), arriving, nil); !errors.Is(err, move.ErrMarkChanged) {
			t.Errorf("Import without a mark = %v, want ErrMarkChanged", err)
		}
	})
}

// What a move asks of a store fails with its database.
func TestMoveErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newMemoryDB()
		s := quiet(t, d, 0)
		d.fail = func(string) error { return errTest }
		check := func(what string) {
			t.Helper()
			_, mark := s.MoveMark(t.Context())
			_, used := s.InUse(t.Context())
			_, summary := s.MoveSummary(t.Context())
			_, export := s.Export(t.Context(), "", 1)
			_, clears := s.Clear(t.Context(), move.Mark{})
			for name, err := range map[string]error{
				"MoveMark": mark, "InUse": used, "MoveSummary": summary, "Export": export, "Clear": clears,
				"SwapMoveMark": s.SwapMoveMark(t.Context(), move.Mark{}, move.Mark{ID: "m", State: move.Arriving}),
			} {
				if r := leasehold.ReasonOf(err); r != leasehold.ReasonUnavailable && r != leasehold.ReasonUnknown {
					t.Errorf("%s %s = %v", name, what, err)
				}
			}
		}
		check("with a broken database")
		synctest.Wait()
		d.fail = nil
		must(t, s.SwapMoveMark(t.Context(), move.Mark{}, move.Mark{ID: "m", State: move.Leaving, Lasts: time.Second}))
		time.Sleep(2 * time.Second)
		d.fail = once("step", 1, errTest) // of reopening
		_, err := s.Acquire(t.Context(), request("r"))
		reason(t, "Acquire that cannot reopen", err, leasehold.ReasonUnavailable)
		synctest.Wait()
		d.fail = once("step", 1, errTest)
		_, err = s.SetSetting(t.Context(), leasehold.SettingMaxLeases, 4)
		reason(t, "SetSetting that cannot reopen", err, leasehold.ReasonUnavailable)
		synctest.Wait()
		d.fail = nil
		must(t, s.Close())
		check("after Close")
	})
}
