package local

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// failNext makes the disk's next commit fail in the given way.
func (d *disk) failNext(f fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.commits + 1
	d.failCommit = func(n int) fault {
		if n == at {
			return f
		}
		return fine
	}
}

func (d *disk) set(change func(*disk)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func TestUnwrittenCommitIsVoid(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		before := acquire(t, e, "kept", "a", time.Minute)
		d.failNext(unwritten)
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "lost", Holder: "a"})
		wantReason(t, "Acquire on a failing disk", err, leasehold.ReasonUnavailable)
		if !errors.Is(err, errDisk) {
			t.Errorf("the error hides its cause: %v", err)
		}

		after := acquire(t, e, "lost", "b", time.Minute)
		if after.Token <= before.Token+1 {
			t.Errorf("token %d after the failure, want one above the void %d: it may have been seen", after.Token, before.Token+1)
		}
		if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: before.ID}); err != nil {
			t.Errorf("Renew of a lease from before the failure = %v", err)
		}
		d.checkSeqs(t)
	})
}

func TestUnheardCommitStands(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.failNext(unanswered)
		g := acquire(t, e, "r", "a", time.Minute) // the reload finds it on disk
		if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
			t.Errorf("Renew = %v", err)
		}
		d.checkSeqs(t)
	})
}

func TestOutageAnswersUnknownAndRecovers(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", time.Minute)
		d.failNext(unwritten)
		d.set(func(d *disk) { d.failLoads = 5 })
		_, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew during an outage", err, leasehold.ReasonUnknown)
		_, err = e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew while down", err, leasehold.ReasonUnavailable)
		_, err = e.Status(t.Context(), "r")
		wantReason(t, "Status while down", err, leasehold.ReasonUnavailable)
		_, err = e.List(t.Context(), leasehold.ListRequest{})
		wantReason(t, "List while down", err, leasehold.ReasonUnavailable)
		_, err = e.Settings(t.Context())
		wantReason(t, "Settings while down", err, leasehold.ReasonUnavailable)
		_, err = e.SetSetting(t.Context(), leasehold.SettingKeepHistory, false)
		wantReason(t, "SetSetting while down", err, leasehold.ReasonUnavailable)
		_, err = e.Cleanup(t.Context())
		wantReason(t, "Cleanup while down", err, leasehold.ReasonUnavailable)

		time.Sleep(2 * time.Second)
		if l, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil || l.Renewals != 1 {
			t.Errorf("Renew after the outage = %+v, %v, want the first renewal", l, err)
		}
	})
}

func TestVoidGrantGoesBackToTheQueueInOrder(t *testing.T) {
	for _, f := range []fault{unwritten, unanswered} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			g := acquire(t, e, "r", "a", time.Hour)
			first := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "first", TTL: time.Hour})
			second := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "second", TTL: time.Hour})
			d.failNext(f)
			_, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
			if f == unwritten {
				wantReason(t, "Release on a failing disk", err, leasehold.ReasonUnavailable)
				synctest.Wait()
				if len(first)+len(second) > 0 {
					t.Fatal("a waiter got a lease that is not on disk")
				}
				release(t, e, g)
			} else if err != nil {
				t.Fatalf("Release that reached the disk = %v", err)
			}
			a := <-first
			if a.err != nil || a.grant.Token <= g.Token {
				t.Fatalf("first waiter got %+v, %v", a.grant, a.err)
			}
			release(t, e, a.grant)
			if b := <-second; b.err != nil || b.grant.Token <= a.grant.Token {
				t.Fatalf("second waiter got %+v, %v", b.grant, b.err)
			}
			d.checkSeqs(t)
		})
	}
}

func TestDecisionsOnTopOfAFailedCommitAreVoid(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", time.Hour)
		d.set(func(d *disk) { d.slowness = 100 * time.Millisecond })
		d.failNext(unwritten)
		released := make(chan error, 1)
		go func() {
			_, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
			released <- err
		}()
		time.Sleep(10 * time.Millisecond)
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "b"})
		wantReason(t, "Acquire on top of the failed release", err, leasehold.ReasonUnavailable)
		wantReason(t, "the release", <-released, leasehold.ReasonUnavailable)
		s, err := e.Status(t.Context(), "r")
		if err != nil || !s.Check(g.Token) {
			t.Errorf("Status = %+v, %v, want the first lease still there", s, err)
		}
	})
}

func TestFailureDuringAnOutageIsRecordedLater(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		w := wait(ctx, e, leasehold.AcquireRequest{Resource: "r", Holder: "b"})
		late := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "c", Timeout: 100 * time.Millisecond})
		d.failNext(unwritten)
		d.set(func(d *disk) { d.failLoads = 8 })
		e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "other", Holder: "a"})
		cancel()
		wantReason(t, "a wait cancelled in an outage", (<-w).err, leasehold.ReasonCancelled)
		wantReason(t, "a wait timed out in an outage", (<-late).err, leasehold.ReasonTimeout)
		time.Sleep(10 * time.Second)
		want := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindFailed, leasehold.KindFailed}
		if got := d.kinds("r"); !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
		d.checkSeqs(t)
	})
}

// A grant may reach the disk though its commit failed, after its caller has left
// without knowing the id. It must not stay until its ttl.
func TestUnclaimedGrantOfAnOutageIsReleased(t *testing.T) {
	for _, waiting := range []bool{false, true} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			var g leasehold.Grant
			if waiting {
				g = acquire(t, e, "r", "x", time.Hour)
			}
			ctx, cancel := context.WithCancel(t.Context())
			d.set(func(d *disk) { d.slowness = 100 * time.Millisecond; d.failLoads = 6 })
			d.failNext(unanswered)
			request := leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: time.Hour}
			got := make(chan error, 1)
			go func() {
				var err error
				if waiting {
					_, err = e.Wait(ctx, request)
				} else {
					_, err = e.Acquire(ctx, request)
				}
				got <- err
			}()
			synctest.Wait()
			if waiting {
				go e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
			}
			time.Sleep(150 * time.Millisecond) // the commit has failed, the disk is down
			cancel()
			if err := <-got; err == nil {
				t.Fatal("a cancelled call answered with a grant")
			}
			time.Sleep(10 * time.Second)
			if s, err := e.Status(t.Context(), "r"); err != nil || s.Locked() {
				t.Errorf("waiting=%v: Status = %+v, %v, want the unclaimed grant released", waiting, s.Lease, err)
			}
			d.checkSeqs(t)
		})
	}
}

func TestCloseDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e := open(t, d)
		acquire(t, e, "r", "a", time.Hour)
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b"})
		d.failNext(unwritten)
		d.set(func(d *disk) { d.failLoads = 1 << 30 })
		_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "other", Holder: "a"})
		wantReason(t, "Acquire", err, leasehold.ReasonUnknown)
		if err := e.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		wantReason(t, "the waiter", (<-w).err, leasehold.ReasonUnavailable)
	})
}

// The last commit, of the closing engine, fails: its callers are still answered.
func TestCloseWithAFailingLastCommit(t *testing.T) {
	for _, loads := range []int{0, 1 << 30} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			e := open(t, d)
			g := acquire(t, e, "r", "a", time.Hour)
			w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b"})
			d.set(func(d *disk) { d.slowness = 50 * time.Millisecond; d.failLoads = loads })
			d.failNext(unwritten)
			go e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
			synctest.Wait()
			e.Close()
			want := leasehold.ReasonUnavailable
			if loads > 0 {
				want = leasehold.ReasonUnknown // its grant may be on disk
			}
			wantReason(t, "the waiter", (<-w).err, want)
		})
	}
}

// The time of a waiter is up while its grant is on the way to a disk that then
// fails: the wait ends, and does not hang.
func TestTimeoutDuringAVoidGrant(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", time.Hour)
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", Timeout: time.Second})
		d.set(func(d *disk) { d.slowness = 2 * time.Second })
		d.failNext(unwritten)
		go e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID})
		wantReason(t, "the wait", (<-w).err, leasehold.ReasonTimeout)
		time.Sleep(time.Minute)
		want := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindFailed}
		if got := d.kinds("r"); !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
		d.checkSeqs(t)
	})
}

// The commit with the answer for a superseded waiter fails: it is answered all the
// same, the newer request keeps the position, and the failure is recorded.
func TestSupersededDuringAFailedCommit(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		g := acquire(t, e, "r", "a", time.Hour)
		r := leasehold.AcquireRequest{Resource: "r", Holder: "b", ID: leasehold.NewID(), TTL: time.Hour, Timeout: time.Hour}
		older := wait(t.Context(), e, r)
		d.failNext(unwritten)
		newer := wait(t.Context(), e, r)
		wantReason(t, "the older wait", (<-older).err, leasehold.ReasonSuperseded)
		release(t, e, g)
		if a := <-newer; a.err != nil {
			t.Errorf("the newer wait = %v", a.err)
		}
		want := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindFailed, leasehold.KindReleased, leasehold.KindAcquired}
		if got := d.kinds("r"); !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
		d.checkSeqs(t)
	})
}

// A wait that timed out is in the history even if the commit that carried the
// record failed.
func TestFailedWaitIsRecordedAgainAfterAFailedCommit(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		w := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r", Holder: "b", Timeout: time.Millisecond})
		d.failNext(unwritten)
		wantReason(t, "the wait", (<-w).err, leasehold.ReasonTimeout)
		time.Sleep(time.Minute)
		want := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindFailed}
		if got := d.kinds("r"); !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
	})
}
