package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
)

func TestOpenFailsWithItsJournal(t *testing.T) {
	d := newDisk()
	d.failLoads = 1
	if _, err := Open(t.Context(), d, nil); !errors.Is(err, errDisk) {
		t.Errorf("Open = %v, want the journal's error", err)
	}
	d.state.Settings[leasehold.SettingDefaultTTL] = int64(-5)
	_, err := Open(t.Context(), d, nil)
	if !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("Open with a stored setting out of range = %v, want ErrInvalid", err)
	}
}

func TestKindIsNamedInErrors(t *testing.T) {
	e, err := Open(t.Context(), newDisk(), &Options{Kind: "toy"})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	_, err = e.Acquire(t.Context(), leasehold.AcquireRequest{})
	var x *leasehold.Error
	if !errors.As(err, &x) || x.Store != "toy" {
		t.Errorf("Acquire = %#v, want an error of the store toy", err)
	}
}

func TestCloseTwiceAndUseAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		id := leasehold.NewID()
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id})
		if err := errors.Join(e.Close(), e.Close()); err != nil {
			t.Fatalf("Close twice = %v", err)
		}
		wantReason(t, "the waiter", (<-w).err, leasehold.ReasonUnavailable)
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "c"})
		wantReason(t, "Acquire after Close", err, leasehold.ReasonUnavailable)
		err = e.Do(t.Context(), "r", func(engine.View) (engine.Decision, error) { panic("decided after Close") })
		wantReason(t, "Do after Close", err, leasehold.ReasonUnavailable)
	})
}

// A refusal tells of a lease, so it waits until that lease is on disk.
func TestRefusalAndReadsWaitForTheDisk(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.set(func(d *disk) { d.slowness = time.Second })
		go e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: time.Hour})
		synctest.Wait()
		start := time.Now()
		for what, call := range map[string]func() error{
			"refusal": func() error {
				_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b"})
				return err
			},
			"status": func() error { _, err := e.Status(t.Context(), "r"); return err },
			"list":   func() error { _, err := e.List(t.Context(), leasehold.ListRequest{}); return err },
			"absence": func() error {
				_, err := e.Find(t.Context(), leasehold.NewID())
				return err
			},
		} {
			go func() {
				call()
				if took := time.Since(start); took < time.Second {
					t.Errorf("%s answered after %v, before the commit", what, took)
				}
			}()
		}
		time.Sleep(2 * time.Second)
	})
}

func TestCallerLeavesBeforeTheDiskAnswers(t *testing.T) {
	for _, proposed := range []leasehold.ID{{}, leasehold.NewID()} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			d.set(func(d *disk) { d.slowness = time.Second })
			for _, call := range []func(context.Context, leasehold.AcquireRequest) (leasehold.Grant, error){e.Acquire, e.Wait} {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				_, err := call(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "a", ID: proposed, TTL: time.Hour})
				wantReason(t, "a call that left early", err, leasehold.ReasonUnknown)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error hides its cause: %v", err)
				}
				time.Sleep(5 * time.Second)
				s, err := e.Status(t.Context(), "r")
				if kept := !proposed.IsZero(); err != nil || s.Locked() != kept {
					t.Errorf("Status = %+v, %v, want locked %v", s.Lease, err, kept)
				}
			}
		})
	}
}

func TestCancelledContextDecidesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err1 := e.Acquire(ctx, leasehold.AcquireRequest{Resource: "r", Holder: "a"})
		_, err2 := e.List(ctx, leasehold.ListRequest{})
		_, err3 := e.Cleanup(ctx)
		_, err4 := e.SetSetting(ctx, leasehold.SettingKeepHistory, false)
		err5 := e.Do(ctx, "r", func(engine.View) (engine.Decision, error) { panic("decided") })
		for i, err := range []error{err1, err2, err3, err4, err5} {
			if !errors.Is(err, context.Canceled) || !errors.Is(err, leasehold.ErrUnavailable) {
				t.Errorf("call %d = %v, want ErrUnavailable because of the context", i+1, err)
			}
		}
		if d.commits > 0 {
			t.Errorf("%d commits, want none", d.commits)
		}
	})
}

func TestTokenCounterEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.state.Token = leasehold.MaxToken - 2
		e := open(t, d)
		if g := acquire(t, e, "r", "a", time.Minute); g.Token != leasehold.MaxToken-1 {
			t.Errorf("token %d, want %d", g.Token, uint64(leasehold.MaxToken-1))
		}
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "s", Holder: "a"})
		wantReason(t, "Acquire past the last token", err, leasehold.ReasonUnavailable)
	})
}

// A lease that ended is known for an hour and then forgotten, on disk too.
func TestEndedRowsAreForgottenAfterAnHour(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", time.Minute)
		release(t, e, g)
		time.Sleep(59 * time.Minute)
		if l, err := e.Find(t.Context(), g.ID); err != nil || l.State != leasehold.StateReleased {
			t.Errorf("Find within the hour = %+v, %v", l, err)
		}
		time.Sleep(10 * time.Minute)
		_, err := e.Find(t.Context(), g.ID)
		wantReason(t, "Find after the hour", err, leasehold.ReasonNotFound)
		synctest.Wait()
		if len(d.rows) != 0 {
			t.Errorf("%d rows on disk, want none", len(d.rows))
		}
		if again := acquire(t, e, "r", "a", time.Minute); again.Token <= g.Token {
			t.Errorf("token %d after %d", again.Token, g.Token)
		}
	})
}

// Thousands of leases end at the same moment; each is settled, in bites.
func TestManyExpireAtOnce(t *testing.T) {
	const many = 3*bite + 7
	for _, auto := range []bool{true, false} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			if _, err := e.SetSetting(t.Context(), leasehold.SettingAutoExpire, auto); err != nil {
				t.Fatal(err)
			}
			for i := range many {
				acquire(t, e, fmt.Sprint("r", i), "a", time.Minute)
			}
			time.Sleep(2 * time.Minute)
			if n := ended(e); auto && n != many || !auto && n != 0 {
				t.Errorf("auto=%v: %d of %d settled", auto, n, many)
			}
			cleaned, err := e.Cleanup(t.Context())
			if want := many; err != nil || !auto && cleaned.Expired != want || auto && cleaned.Expired != 0 {
				t.Errorf("auto=%v: Cleanup = %+v, %v", auto, cleaned, err)
			}
			if n := ended(e); n != many {
				t.Errorf("auto=%v: %d of %d settled after Cleanup", auto, n, many)
			}
			e.inspect(func() { checkTable(t, e.table) })
			time.Sleep(2 * time.Hour)
			e.inspect(func() {
				if n := len(e.table.rows); n != 0 {
					t.Errorf("%d rows remembered after two hours", n)
				}
			})
			d.checkSeqs(t)
		})
	}
}

func ended(e *Engine) (n int) {
	e.inspect(func() { n = e.table.ended.count() })
	return n
}

// A list longer than a bite is complete, whatever the page size, and a filter
// that matches little still ends.
func TestListAcrossBites(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		const many = 2*bite + 3
		var want []string
		for i := range many {
			name := fmt.Sprintf("r%05d", i)
			want = append(want, name)
			acquire(t, e, name, fmt.Sprint("h", i%2), time.Hour)
		}
		for _, r := range []leasehold.ListRequest{{Limit: 1000}, {Limit: 7}, {Prefix: "r", Limit: 333}} {
			if got := listAll(t, e, r); !slices.Equal(got, want) {
				t.Errorf("List(%+v) gave %d names, want %d", r, len(got), len(want))
			}
		}
		if got := listAll(t, e, leasehold.ListRequest{Holder: "h1", Limit: 100}); len(got) != many/2 {
			t.Errorf("List of h1 gave %d, want %d", len(got), many/2)
		}
		if got := listAll(t, e, leasehold.ListRequest{Metadata: map[string]string{"a": "b"}}); len(got) != 0 {
			t.Errorf("List by metadata that nobody has gave %v", got)
		}
		if got := listAll(t, e, leasehold.ListRequest{Resource: want[bite]}); !slices.Equal(got, want[bite:bite+1]) {
			t.Errorf("List of one resource gave %v", got)
		}
	})
}

func listAll(t *testing.T, e *Engine, r leasehold.ListRequest) (names []string) {
	t.Helper()
	for {
		page, err := e.List(t.Context(), r)
		if err != nil {
			t.Fatalf("List(%+v) = %v", r, err)
		}
		for _, l := range page.Leases {
			names = append(names, l.Resource)
		}
		if r.Cursor = page.Cursor; r.Cursor == "" {
			return names
		}
	}
}

func TestHistoryNeedsItsJournal(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.set(func(d *disk) { d.failReads = errDisk })
		_, err := e.History(t.Context(), leasehold.HistoryRequest{})
		wantReason(t, "History", err, leasehold.ReasonUnavailable)
		_, err = e.Cleanup(t.Context())
		wantReason(t, "Cleanup", err, leasehold.ReasonUnavailable)
		_, err = e.History(t.Context(), leasehold.HistoryRequest{Cursor: cursor("h", "x")})
		wantReason(t, "History", err, leasehold.ReasonInvalid)
	})
}

// The history is purged without waiting for the sweep when it outgrows its
// limit, and a purge leaves one record.
func TestHistoryIsBoundedBetweenSweeps(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for key, value := range map[string]any{leasehold.SettingHistoryMaxRows: 10, leasehold.SettingCleanupInterval: 86400} {
			if _, err := e.SetSetting(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
		}
		g := acquire(t, e, "r", "a", time.Hour)
		for range 3000 {
			if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		page, err := e.History(t.Context(), leasehold.HistoryRequest{Limit: 1000, Kind: leasehold.KindRenewed})
		if err != nil || len(page.Records) > 1020 || page.Cursor != "" && len(page.Records) == 0 {
			t.Errorf("%d renewals kept, want about a thousand at most (%v)", len(page.Records), err)
		}
		if kept := e.seq - e.purged; kept > 1020 {
			t.Errorf("%d records kept", kept)
		}
	})
}

// The record of a purge does not make the next purge.
func TestPurgeOfNothingButAPurge(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		if _, err := e.SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := len(d.records); n > 3 {
			t.Errorf("%d records of an idle day, want the setting's and one purge", n)
		}
	})
}

// Nor does it push out what is worth more: a history at its limit stays as it is
// while nothing happens.
func TestPurgeLeavesAFullHistoryAlone(t *testing.T) {
	for _, limit := range []int{1, 2, 10} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			if _, err := e.SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, int64(limit)); err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				acquire(t, e, fmt.Sprint("r", i), "a", 20*time.Hour)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			before := e.seq
			time.Sleep(10 * time.Hour)
			synctest.Wait()
			page, err := e.History(t.Context(), leasehold.HistoryRequest{})
			if err != nil || len(page.Records) != limit || e.seq != before {
				t.Errorf("limit %d: an idle store has %d records and wrote %d, want %d and none (%v)", limit, len(page.Records), e.seq-before, limit, err)
			}
		})
	}
}

// A clean-up that finds another one's purge under way answers when that is
// durable.
func TestCleanupWaitsForAPurgeUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		synctest.Wait()
		e.mu.Lock()
		through := e.seq
		e.mu.Unlock()
		first, n, err := e.purgeThrough(through, 1)
		second, again, err2 := e.purgeThrough(through, 1)
		if err != nil || err2 != nil || n != 1 || again != 0 || first == nil || second != first {
			t.Errorf("purgeThrough = %p, %d, %v, then %p, %d, %v; want the same batch to wait for", first, n, err, second, again, err2)
		}
	})
}

// Random load on a disk that fails now and then: the indexes, the numbering
// and the disk always agree with the memory.
func TestRandomLoadOnAFailingDisk(t *testing.T) {
	for seed := range uint64(20) {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			rng := rand.New(rand.NewPCG(seed, 1))
			d.set(func(d *disk) {
				d.failCommit = func(int) fault {
					if rng.IntN(10) == 0 {
						return fault(1 + rng.IntN(2))
					}
					return fine
				}
			})
			for worker := range 8 {
				go randomWork(t.Context(), e, rand.New(rand.NewPCG(seed, uint64(worker+2))))
			}
			time.Sleep(time.Hour)
			d.set(func(d *disk) { d.failCommit = nil })
			time.Sleep(time.Minute)
			e.inspect(func() {
				checkTable(t, e.table)
				for name, ent := range e.table.rows {
					if onDisk := d.rows[name]; onDisk.Token != ent.row.Token || onDisk.State != ent.row.State || onDisk.Ends != ent.row.Ends {
						t.Errorf("row %q is %+v in memory and %+v on disk", name, ent.row, onDisk)
					}
				}
			})
			d.checkSeqs(t)
		})
	}
}

func randomWork(ctx context.Context, e *Engine, rng *rand.Rand) {
	var held leasehold.Grant
	for range 300 {
		time.Sleep(time.Duration(rng.IntN(2000)) * time.Millisecond)
		r := leasehold.AcquireRequest{Resource: fmt.Sprint("r", rng.IntN(4)), Holder: fmt.Sprint(rng.IntN(3)), TTL: time.Duration(1+rng.IntN(20)) * time.Second}
		if rng.IntN(2) == 0 {
			r.ID = leasehold.NewID()
		}
		short, cancel := context.WithTimeout(ctx, time.Duration(rng.IntN(3000))*time.Millisecond)
		switch rng.IntN(8) {
		case 0, 1:
			held, _ = e.Acquire(ctx, r)
		case 2, 3:
			held, _ = e.Wait(short, r)
		case 4:
			e.Renew(ctx, leasehold.RenewRequest{ID: held.ID})
		case 5:
			e.Break(ctx, leasehold.BreakRequest{Resource: r.Resource, Period: new(time.Duration(rng.IntN(5)) * time.Second)})
		case 6:
			e.ReleaseHolder(ctx, r.Holder, "test")
		default:
			e.Release(ctx, leasehold.ReleaseRequest{ID: held.ID})
		}
		cancel()
	}
}

// A waiter's proposed id goes live elsewhere while it waits: it hears, and the
// next one is served.
func TestWaiterWhoseIDWentElsewhere(t *testing.T) {
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

func TestPlaceOfAnotherHolderIsNotGivenAway(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		id := leasehold.NewID()
		wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: id})
		_, err := e.Wait(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "thief", ID: id})
		wantReason(t, "Wait with another's id", err, leasehold.ReasonIDInUse)
	})
}

// A client that waits and asks once more beside it gets one lease, not two.
func TestAcquireBesideOwnWait(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		// The only way to find the resource free with the place still there is
		// that the place is absent.
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
			t.Error("the kept place outlived its lease")
		}
	})
}

func TestUnplaceSupersedesAPresentWaiter(t *testing.T) {
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

// A client that comes back and leaves again is kept for another half minute,
// and does not keep the places of others any longer.
func TestKeptPlacesEndOnTime(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		again, once := leasehold.NewID(), leasehold.NewID()
		leave := func(holder string, id leasehold.ID) {
			ctx, cancel := context.WithCancel(t.Context())
			w := wait(ctx, e, leasehold.AcquireRequest{Resource: "r", Holder: holder, ID: id})
			cancel()
			<-w
		}
		kept := func(id leasehold.ID) (yes bool) {
			e.inspect(func() { yes = e.queues["r"] != nil && e.queues["r"].byID[id] != nil })
			return yes
		}
		leave("b", again)
		time.Sleep(10 * time.Second)
		leave("c", once)
		time.Sleep(10 * time.Second)
		leave("b", again)
		time.Sleep(leasehold.KeptPlace - 10*time.Second + time.Millisecond)
		if kept(once) || !kept(again) {
			t.Errorf("after 30 s: kept(once) = %v, kept(again) = %v, want false, true", kept(once), kept(again))
		}
		time.Sleep(10 * time.Second)
		if kept(again) {
			t.Error("a place was kept for more than 30 s")
		}
	})
}

// A wait that may go on when the store closes has failed by then.
func TestCloseRecordsWaitsThatAreAway(t *testing.T) {
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

// Lists wait for their turn; grants have none to wait for.
func TestListsTakeTurns(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		over := make(chan struct{})
		for range runtime.GOMAXPROCS(0) { // all turns there are
			go e.lists.Do(t.Context(), func() error { <-over; return nil })
		}
		synctest.Wait()
		listed := make(chan error, 1)
		go func() {
			_, err := e.List(t.Context(), leasehold.ListRequest{})
			listed <- err
		}()
		synctest.Wait()
		release(t, e, acquire(t, e, "r", "a", time.Hour))
		select {
		case err := <-listed:
			t.Errorf("List = %v before its turn", err)
		default:
		}
		close(over)
		if err := <-listed; err != nil {
			t.Errorf("List = %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := e.List(ctx, leasehold.ListRequest{})
		wantReason(t, "List of a caller that left", err, leasehold.ReasonUnavailable)
	})
}
