package local

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
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

// A refusal names a lease, so it waits until that lease is on disk.
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

// Thousands of leases end at the same moment; all expire, in steps.
func TestManyExpireAtOnce(t *testing.T) {
	const many = 3*stepSize + 7
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
				t.Errorf("auto=%v: %d of %d expired", auto, n, many)
			}
			cleaned, err := e.Cleanup(t.Context())
			if want := many; err != nil || !auto && cleaned.Expired != want || auto && cleaned.Expired != 0 {
				t.Errorf("auto=%v: Cleanup = %+v, %v", auto, cleaned, err)
			}
			if n := ended(e); n != many {
				t.Errorf("auto=%v: %d of %d expired after Cleanup", auto, n, many)
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
