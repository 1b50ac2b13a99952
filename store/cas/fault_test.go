package cas_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/storetest"
)

var (
	lost = &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: errors.New("connection reset")}
	down = &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("no route")}
)

// env is a store on a service that can fail, in a bubble.
type env struct {
	*testing.T
	service *service
	store   *cas.Store
}

func inBubble(t *testing.T, f func(e *env)) {
	t.Helper()
	withBackend(t, func(s *service) cas.Backend { return keeping{finding{service: s}} }, f)
}

func withBackend(t *testing.T, make func(*service) cas.Backend, f func(e *env)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		service := newService()
		e := &env{t, service, cas.New(make(service), nil)}
		defer e.store.Close()
		f(e)
	})
}

func request(holder string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: "r", Holder: holder, TTL: 10 * time.Second}
}

func (e *env) acquire(holder string) leasehold.Grant {
	e.Helper()
	g, err := e.store.Acquire(e.Context(), request(holder))
	if err != nil {
		e.Fatalf("Acquire = %v, want a grant", err)
	}
	return g
}

func (e *env) want(call string, err error, reason leasehold.Reason) *leasehold.Error {
	e.Helper()
	var typed *leasehold.Error
	if !errors.As(err, &typed) || typed.Reason != reason || typed.Store != "test" {
		e.Fatalf("%s = %v (%v), want %s of the store test", call, err, leasehold.ReasonOf(err), reason)
	}
	return typed
}

func (e *env) status() leasehold.Status {
	e.Helper()
	s, err := e.store.Status(e.Context(), "r")
	if err != nil {
		e.Fatalf("Status = %v", err)
	}
	return s
}

// heal ends all faults.
func (e *env) heal() {
	e.service.beforeSwap, e.service.afterSwap = nil, nil
	e.service.setLoad(nil)
}

func (e *env) renew(g leasehold.Grant) (leasehold.Lease, error) {
	return e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"})
}

func (e *env) release(g leasehold.Grant) (leasehold.Lease, error) {
	return e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"})
}

// The write happened, the answer did not come: the mark shows it.
func TestLostAnswerOfAWriteThatHappened(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.afterSwap = func(n int, _ cas.Write) error {
			if n == 1 {
				return lost
			}
			return nil
		}
		g := e.acquire("h")
		if e.service.swaps != 1 || e.status().Lease.Token != g.Token || len(e.service.records) != 1 {
			t.Errorf("%d writes, %d records, status %+v; want one of each", e.service.swaps, len(e.service.records), e.status())
		}
		e.service.afterSwap = func(int, cas.Write) error { return errors.New("an error that says nothing") }
		if l, err := e.renew(g); err != nil || l.Renewals != 1 {
			t.Errorf("Renew = %+v, %v; want the one renewal", l, err)
		}
		if l, err := e.release(g); err != nil || l.State != leasehold.StateReleased {
			t.Errorf("Release = %+v, %v; want success", l, err)
		}
	})
}

// The write did not happen, and comes late: by then its version is gone.
func TestLostWriteThatComesLate(t *testing.T) {
	for _, absent := range []bool{true, false} {
		inBubble(t, func(e *env) {
			if !absent {
				if _, err := e.release(e.acquire("before")); err != nil {
					t.Fatal(err)
				}
			}
			var late []func() error
			e.service.beforeSwap = func(n int, w cas.Write) error {
				if len(late) == 0 {
					v := e.service.items["r"].Version
					late = append(late, func() error { _, err := e.service.swap(v, w); return err })
					return lost
				}
				return nil
			}
			g := e.acquire("h")
			if err := late[0](); !errors.Is(err, cas.ErrRaced) {
				t.Errorf("the late write = %v, want it shut out", err)
			}
			if s := e.status(); s.Lease.Token != g.Token || s.Lease.Holder != "h" {
				t.Errorf("status = %+v, want the grant", s)
			}
		})
	}
}

// The decision is another one after the lost answer: the write in doubt must not
// happen after the refusal.
func TestRefusalShutsOutAWriteInDoubt(t *testing.T) {
	inBubble(t, func(e *env) {
		g := e.acquire("h")
		var late func() error
		e.service.beforeSwap = func(n int, w cas.Write) error {
			if late == nil {
				v := e.service.items["r"].Version
				late = func() error { _, err := e.service.swap(v, w); return err }
				time.Sleep(2 * time.Second)
				e.service.shift = time.Minute // the lease ends meanwhile
				return lost
			}
			return nil
		}
		_, err := e.renew(g)
		e.want("Renew", err, leasehold.ReasonExpired)
		if err := late(); !errors.Is(err, cas.ErrRaced) {
			t.Errorf("the late renewal = %v, want it shut out", err)
		}
		if e.status().Locked() {
			t.Error("the lease is alive again")
		}
	})
}

// refuseInDoubt loses a renewal and lets the lease end, then calls next for the
// second write, which is to shut the first one out.
func refuseInDoubt(t *testing.T, next func(e *env) error) (err error) {
	inBubble(t, func(e *env) {
		g := e.acquire("h")
		first := true
		e.service.beforeSwap = func(int, cas.Write) error {
			if first {
				first = false
				e.service.shift = time.Minute
				return lost
			}
			return next(e)
		}
		_, err = e.renew(g)
	})
	return err
}

func TestRefusalInDoubtThatCannotBeShutOut(t *testing.T) {
	err := refuseInDoubt(t, func(*env) error { return down })
	if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
		t.Errorf("Renew = %v, want unknown", err)
	}
	raced := 0
	err = refuseInDoubt(t, func(*env) error {
		if raced++; raced == 1 {
			return cas.ErrRaced
		}
		return nil
	})
	if leasehold.ReasonOf(err) != leasehold.ReasonExpired || raced != 2 {
		t.Errorf("Renew = %v after %d writes, want expired after the second", err, raced)
	}
}

// The create of an item is lost, and meanwhile the proposed id is taken
// elsewhere: nothing can be written to shut the create out.
func TestRefusalInDoubtWithoutAnItem(t *testing.T) {
	inBubble(t, func(e *env) {
		r := request("h")
		r.ID = leasehold.NewID()
		e.service.beforeSwap = func(int, cas.Write) error {
			e.service.beforeSwap = nil
			other := cas.New(finding{service: e.service}, nil)
			defer other.Close()
			elsewhere := r
			elsewhere.Resource = "elsewhere"
			if _, err := other.Acquire(e.Context(), elsewhere); err != nil {
				t.Error(err)
			}
			return lost
		}
		_, err := e.store.Acquire(e.Context(), r)
		e.want("Acquire", err, leasehold.ReasonUnknown)
	})
}

// Others write after the write whose answer was lost.
func TestLostAnswerAndOthersSince(t *testing.T) {
	for others, want := range map[int]leasehold.Reason{1: "", 6: "", 20: leasehold.ReasonUnknown} {
		inBubble(t, func(e *env) {
			g := e.acquire("h")
			e.service.afterSwap = func(int, cas.Write) error {
				e.service.afterSwap = nil
				other := cas.New(e.service, nil)
				defer other.Close()
				for range others {
					if _, err := other.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r"}); err != nil {
						t.Error(err)
					}
				}
				return lost
			}
			l, err := e.renew(g)
			if leasehold.ReasonOf(err) != want || err == nil && l.Renewals != 1 {
				t.Errorf("Renew with %d others = %+v, %v; want %q", others, l, err, want)
			}
		})
	}
}

func TestLostAnswerThatNothingExplains(t *testing.T) {
	inBubble(t, func(e *env) {
		g := e.acquire("h")
		e.service.afterSwap = func(int, cas.Write) error {
			e.service.load = func(string) error { return down }
			return lost
		}
		_, err := e.renew(g)
		if typed := e.want("Renew", err, leasehold.ReasonUnknown); !errors.Is(typed, down.Cause) {
			t.Errorf("Renew = %v, want the cause", err)
		}
		e.heal()
		if n := e.status().Lease.Renewals; n != 1 {
			t.Errorf("%d renewals, want the one in doubt", n)
		}
	})
}

func TestErrorsBeforeAnythingWasWritten(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.beforeSwap = func(int, cas.Write) error {
			return &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: 3 * time.Second}
		}
		_, err := e.store.Acquire(e.Context(), request("h"))
		if typed := e.want("Acquire", err, leasehold.ReasonRateLimited); typed.RetryAfter != 3*time.Second || typed.Op != "acquire" || typed.Resource != "r" {
			t.Errorf("error = %+v", typed)
		}
		e.heal()
		e.service.load = func(string) error { return errors.New("an error that says nothing") }
		_, err = e.store.Acquire(e.Context(), request("h"))
		e.want("Acquire", err, leasehold.ReasonUnavailable)
		_, err = e.store.Status(e.Context(), "r")
		e.want("Status", err, leasehold.ReasonUnavailable)
		_, err = e.store.List(e.Context(), leasehold.ListRequest{})
		e.want("List", err, leasehold.ReasonUnavailable)
		_, err = e.store.Cleanup(e.Context())
		e.want("Cleanup", err, leasehold.ReasonUnavailable)
		e.service.load = func(string) error { return lost }
		_, err = e.store.Status(e.Context(), "r")
		e.want("Status", err, leasehold.ReasonUnavailable)
		e.heal()
		e.service.find = func() error { return down }
		_, err = e.store.Find(e.Context(), leasehold.NewID())
		e.want("Find", err, leasehold.ReasonUnavailable)
		r := request("h")
		r.ID = leasehold.NewID()
		_, err = e.store.Acquire(e.Context(), r)
		e.want("Acquire", err, leasehold.ReasonUnavailable)
		e.service.append = func() error { return down }
		_, err = e.store.History(e.Context(), leasehold.HistoryRequest{})
		e.want("History", err, leasehold.ReasonUnavailable)
	})
}

func TestReadsEndWithTheirContext(t *testing.T) {
	inBubble(t, func(e *env) {
		ctx, cancel := context.WithCancelCause(e.Context())
		cause := errors.New("had enough")
		cancel(cause)
		_, err := e.store.Status(ctx, "r")
		if e.want("Status", err, leasehold.ReasonUnavailable); !errors.Is(err, cause) {
			t.Errorf("Status = %v, want the cause", err)
		}
	})
}

// race changes the item behind an operation's back, n times.
func (e *env) race(n int) {
	e.service.beforeSwap = func(int, cas.Write) error {
		if n--; n < 0 {
			return nil
		}
		e.service.mu.Lock()
		defer e.service.mu.Unlock()
		item := e.service.items["r"]
		item.Row.Resource = "r"
		e.service.version++
		item.Version = cas.Version(fmt.Sprint("raced-", e.service.version))
		e.service.items["r"] = item
		return nil
	}
}

func TestRacesAreRetried(t *testing.T) {
	inBubble(t, func(e *env) {
		e.race(10)
		g := e.acquire("h")
		e.race(10)
		if l, err := e.renew(g); err != nil || l.Renewals != 1 {
			t.Errorf("Renew = %+v, %v", l, err)
		}
		start := time.Now()
		e.race(1 << 30)
		_, err := e.release(g)
		e.want("Release", err, leasehold.ReasonUnavailable)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("Release gave up after %v, want 5s", took)
		}
		e.heal()
		if !e.status().Locked() {
			t.Error("a release that did not happen freed the resource")
		}
	})
}

// A renewal is under way while the lease ends.
func TestRenewalThatLandsAfterTheEnd(t *testing.T) {
	for name, call := range map[string]func(e *env, g leasehold.Grant) error{
		"Renew": func(e *env, g leasehold.Grant) error {
			_, err := e.renew(g)
			return err
		},
		"Acquire": func(e *env, g leasehold.Grant) error {
			r := request("h")
			r.ID = g.ID
			_, err := e.store.Acquire(e.Context(), r)
			return err
		},
		"Change": func(e *env, g leasehold.Grant) error {
			_, err := e.store.Change(e.Context(), leasehold.ChangeRequest{ID: g.ID, Resource: "r", Proposed: leasehold.NewID()})
			return err
		},
		"Transfer": func(e *env, g leasehold.Grant) error {
			_, err := e.store.Transfer(e.Context(), leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "other"})
			return err
		},
	} {
		for _, answered := range []bool{true, false} {
			t.Run(fmt.Sprint(name, "/answered=", answered), func(t *testing.T) {
				inBubble(t, func(e *env) {
					g := e.acquire("h")
					time.Sleep(9 * time.Second)
					e.service.beforeSwap = func(int, cas.Write) error {
						e.service.beforeSwap = nil
						time.Sleep(time.Second)
						return nil
					}
					if !answered {
						e.service.afterSwap = func(int, cas.Write) error { e.service.afterSwap = nil; return lost }
					}
					e.want(name, call(e, g), leasehold.ReasonExpired)
					if s := e.status(); s.Locked() || s.Lease.State != leasehold.StateExpired {
						t.Errorf("status = %+v, want expired", s.Lease)
					}
					if next := e.acquire("next"); next.Token <= g.Token {
						t.Errorf("token %d after %d", next.Token, g.Token)
					}
				})
			})
		}
	}
}

// landLate lets a renewal land after the end, then calls next at each write that
// is to undo it.
func landLate(t *testing.T, next func(e *env, n int) error) (err error, locked bool) {
	inBubble(t, func(e *env) {
		g := e.acquire("h")
		time.Sleep(9 * time.Second)
		calls := 0
		e.service.beforeSwap = func(int, cas.Write) error {
			if calls++; calls == 1 {
				time.Sleep(time.Second)
				return nil
			}
			return next(e, calls-1)
		}
		_, err = e.renew(g)
		e.heal()
		locked = e.status().Locked()
	})
	return err, locked
}

func TestUndo(t *testing.T) {
	t.Run("Raced", func(t *testing.T) {
		err, locked := landLate(t, func(_ *env, n int) error {
			if n <= 3 {
				return cas.ErrRaced
			}
			return nil
		})
		if leasehold.ReasonOf(err) != leasehold.ReasonExpired || locked {
			t.Errorf("Renew = %v, locked = %v; want expired", err, locked)
		}
	})
	t.Run("Overtaken", func(t *testing.T) { // somebody ends the lease first
		err, locked := landLate(t, func(e *env, n int) error {
			if n == 1 {
				other := cas.New(e.service, nil)
				defer other.Close()
				if _, err := other.Break(e.Context(), leasehold.BreakRequest{Resource: "r"}); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		if leasehold.ReasonOf(err) != leasehold.ReasonExpired || locked {
			t.Errorf("Renew = %v, locked = %v; want expired", err, locked)
		}
	})
	t.Run("Fails", func(t *testing.T) {
		err, _ := landLate(t, func(*env, int) error { return down })
		if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
			t.Errorf("Renew = %v, want unknown", err)
		}
		err, _ = landLate(t, func(e *env, _ int) error {
			e.service.load = func(string) error { return down }
			return cas.ErrRaced
		})
		if leasehold.ReasonOf(err) != leasehold.ReasonUnknown {
			t.Errorf("Renew = %v, want unknown", err)
		}
	})
}

// abandon cancels a call while its write is under way.
func abandon(e *env, id leasehold.ID) error {
	ctx, cancel := context.WithCancelCause(e.Context())
	e.service.beforeSwap = func(int, cas.Write) error {
		e.service.beforeSwap = nil
		cancel(errors.New("had enough"))
		time.Sleep(time.Second)
		return nil
	}
	r := request("h")
	r.ID = id
	_, err := e.store.Acquire(ctx, r)
	return err
}

func TestCallerLeavesDuringTheWrite(t *testing.T) {
	inBubble(t, func(e *env) {
		start := time.Now()
		err := e.want("Acquire", abandon(e, leasehold.ID{}), leasehold.ReasonUnknown)
		if err.Cause == nil || err.Cause.Error() != "had enough" || time.Since(start) >= time.Second {
			t.Errorf("Acquire = %v after %v, want the cause soon", err, time.Since(start))
		}
		time.Sleep(2 * time.Second)
		if s := e.status(); s.Locked() || s.Lease == nil || s.Lease.State != leasehold.StateReleased {
			t.Errorf("status = %+v, want a grant that was released", s.Lease)
		}
		if last := e.service.records[len(e.service.records)-1]; last.Why != leasehold.WhyAbandoned {
			t.Errorf("record = %+v, want it abandoned", last)
		}
		id := leasehold.NewID()
		e.want("Acquire", abandon(e, id), leasehold.ReasonUnknown)
		time.Sleep(2 * time.Second)
		r := request("h")
		r.ID = id
		if g, err := e.store.Acquire(e.Context(), r); err != nil || !g.Idempotent {
			t.Errorf("Acquire with the same id = %+v, %v; want the same lease", g, err)
		}
	})
}

// The write ends a moment after its caller's context: the caller learns how.
func TestCallerLeavesAMomentTooEarly(t *testing.T) {
	inBubble(t, func(e *env) {
		ctx, cancel := context.WithCancel(e.Context())
		e.service.beforeSwap = func(int, cas.Write) error {
			cancel()
			time.Sleep(100 * time.Millisecond)
			return nil
		}
		if _, err := e.store.Acquire(ctx, request("h")); err != nil {
			t.Errorf("Acquire = %v, want the grant that was under way", err)
		}
	})
}

// Nobody knows whether a grant happened, and nobody its id.
func TestUnknownGrantIsReleased(t *testing.T) {
	for name, ctx := range map[string]func(*env) context.Context{
		"background": func(*env) context.Context { return context.Background() },
		"test":       func(e *env) context.Context { return e.Context() },
	} {
		inBubble(t, func(e *env) {
			e.service.afterSwap = func(int, cas.Write) error {
				e.service.afterSwap = nil
				e.service.setLoad(func(string) error { e.service.setLoad(nil); return down })
				return lost
			}
			_, err := e.store.Acquire(ctx(e), request("h"))
			e.want("Acquire", err, leasehold.ReasonUnknown)
			synctest.Wait()
			if s := e.status(); s.Locked() || s.Lease == nil || s.Lease.State != leasehold.StateReleased {
				t.Errorf("%s: status = %+v, want a grant that was released", name, s.Lease)
			}
		})
	}
}

// Nobody knows whether the grant of a caller who left happened.
func TestCallerLeavesAndTheAnswerIsLost(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.afterSwap = func(int, cas.Write) error {
			e.service.afterSwap = nil
			e.service.setLoad(func(string) error { e.service.setLoad(nil); return down })
			return lost
		}
		e.want("Acquire", abandon(e, leasehold.ID{}), leasehold.ReasonUnknown)
		time.Sleep(2 * time.Second)
		if e.status().Locked() {
			t.Error("a grant that nobody received is there")
		}
	})
}

func TestCloseWaitsForWrites(t *testing.T) {
	inBubble(t, func(e *env) {
		e.want("Acquire", abandon(e, leasehold.ID{}), leasehold.ReasonUnknown)
		if err := e.store.Close(); err != nil {
			t.Fatal(err)
		}
		item := e.service.items["r"]
		if !e.service.closed || item.Row.State != leasehold.StateReleased {
			t.Errorf("after Close: backend closed %v, lease %v", e.service.closed, item.Row.State)
		}
		ctx := e.Context()
		_, find := e.store.Find(ctx, leasehold.NewID())
		_, list := e.store.List(ctx, leasehold.ListRequest{})
		_, history := e.store.History(ctx, leasehold.HistoryRequest{})
		_, cleanup := e.store.Cleanup(ctx)
		for call, err := range map[string]error{"Find": find, "List": list, "History": history, "Cleanup": cleanup} {
			e.want(call, err, leasehold.ReasonUnavailable)
		}
	})
}

func TestNoticesWakeWaiters(t *testing.T) {
	notices := make(chan string)
	withBackend(t, func(s *service) cas.Backend {
		notices = make(chan string)
		return notifying{finding{s, notices}}
	}, func(e *env) {
		// Another server holds the lease and releases it.
		other := cas.New(e.service, nil)
		defer other.Close()
		wait := func(meanwhile func()) time.Duration {
			g, err := other.Acquire(e.Context(), request("other"))
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan leasehold.Grant)
			go func() {
				r := request("w")
				r.Timeout = leasehold.NoTimeout
				g, err := e.store.Wait(e.Context(), r)
				if err != nil {
					t.Error(err)
				}
				done <- g
			}()
			synctest.Wait()
			if _, err := other.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "r"}); err != nil {
				t.Error(err)
			}
			meanwhile()
			granted := <-done
			if _, err := e.release(granted); err != nil {
				t.Error(err)
			}
			return granted.Waited
		}
		if waited := wait(func() { notices <- "r" }); waited != 0 {
			t.Errorf("waited %v for a notice", waited)
		}
		if waited := wait(func() { notices <- "" }); waited > 2*time.Second {
			t.Errorf("waited %v after the connection was lost, want the look when it is back", waited)
		}
		if waited := wait(func() {}); waited > 6*time.Second {
			t.Errorf("waited %v without a notice, want the look", waited)
		}
	})
}

// A coarse clock ends leases late and never early, and shows no more than what
// is safe.
func TestCoarseClock(t *testing.T) {
	for offset := time.Duration(0); offset < time.Second; offset += 100 * time.Millisecond {
		inBubble(t, func(e *env) {
			e.service.grain = time.Second
			e.store = cas.New(keeping{finding{service: e.service}}, nil)
			defer e.store.Close()
			time.Sleep(offset)
			start := time.Now()
			g := e.acquire("h")
			if g.Remaining != g.TTL {
				t.Errorf("grant with %v remaining, want all", g.Remaining)
			}
			r := request("w")
			r.Timeout = leasehold.NoTimeout
			for time.Since(start) < g.TTL {
				if s := e.status(); !s.Locked() || s.Lease.Remaining <= 0 || s.Lease.Remaining > max(1, g.TTL-time.Since(start)) {
					t.Fatalf("after %v: %+v", time.Since(start), s.Lease)
				}
				time.Sleep(90 * time.Millisecond)
			}
			w, err := e.store.Wait(e.Context(), r)
			if took := time.Since(start); err != nil || took < g.TTL || took > g.TTL+4*time.Second {
				t.Fatalf("Wait = %v after %v, want the grant a little after %v", err, took, g.TTL)
			}
			if e.service.swaps != 2 {
				t.Errorf("%d writes, want 2", e.service.swaps)
			}
			period := 5 * time.Second
			l, err := e.store.Break(e.Context(), leasehold.BreakRequest{Resource: "r", Period: &period})
			if err != nil || l.Remaining > period || l.Remaining < period-2*time.Second {
				t.Errorf("Break = %+v, %v", l, err)
			}
			start = time.Now()
			_, err = e.store.Wait(e.Context(), r)
			if took := time.Since(start); err != nil || took < period || took > period+4*time.Second {
				t.Errorf("Wait = %v after %v, want the grant after the period (token %d)", err, took, w.Token)
			}
			if _, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: w.ID, Resource: "r"}); err == nil {
				t.Error("Renew of a broken lease = success")
			}
		})
	}
}

func TestInfiniteOnACoarseClock(t *testing.T) {
	withBackend(t, func(s *service) cas.Backend { s.grain = time.Second; return s }, func(e *env) {
		r := request("h")
		r.TTL = leasehold.Infinite
		g, err := e.store.Acquire(e.Context(), r)
		if err != nil || g.Remaining != leasehold.Infinite {
			t.Errorf("Acquire = %+v, %v", g, err)
		}
		if _, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", TTL: time.Second}); err != nil {
			t.Error(err)
		}
	})
}

// The service forgot the item, as one with a TTL of its own does.
func TestTokensGrowThoughTheItemIsGone(t *testing.T) {
	inBubble(t, func(e *env) {
		first := e.acquire("h")
		clear(e.service.items)
		time.Sleep(time.Millisecond)
		if next := e.acquire("h"); next.Token <= first.Token {
			t.Errorf("token %d after %d", next.Token, first.Token)
		}
	})
}

func TestLimitsOfTheService(t *testing.T) {
	withBackend(t, func(s *service) cas.Backend { return narrow{s} }, func(e *env) {
		for _, ttl := range []time.Duration{time.Second, time.Minute} {
			r := request("h")
			r.TTL = ttl
			_, err := e.store.Acquire(e.Context(), r)
			if typed := e.want("Acquire", err, leasehold.ReasonInvalid); typed.Field != "ttl_seconds" {
				t.Errorf("error = %+v", typed)
			}
		}
		g := e.acquire("h")
		_, err := e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID, Resource: "r", TTL: time.Minute})
		e.want("Renew", err, leasehold.ReasonInvalid)
		_, err = e.store.Renew(e.Context(), leasehold.RenewRequest{ID: g.ID})
		e.want("Renew without a resource", err, leasehold.ReasonUnsupported)
	})
}

type narrow struct{ *service }

func (narrow) Traits() cas.Traits {
	return cas.Traits{Kind: "test", MinTTL: 2 * time.Second, MaxTTL: 30 * time.Second}
}

func TestCleanup(t *testing.T) {
	inBubble(t, func(e *env) {
		for i := range 1200 { // more than a page
			r := request("h")
			r.Resource = fmt.Sprint("r", i)
			if _, err := e.store.Acquire(e.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
		e.acquire("h")
		time.Sleep(time.Minute)
		raced := false
		e.service.beforeSwap = func(_ int, w cas.Write) error {
			if w.Row.Resource == "r7" && !raced {
				raced = true
				return cas.ErrRaced
			}
			return nil
		}
		if c, err := e.store.Cleanup(e.Context()); err != nil || c.Expired != 1200 || c.Forgotten != 0 {
			t.Errorf("Cleanup = %+v, %v; want 1200 expired, one left to others", c, err)
		}
		time.Sleep(2 * time.Hour)
		if c, err := e.store.Cleanup(e.Context()); err != nil || c.Expired != 1 || c.Forgotten != 1201 {
			t.Errorf("Cleanup = %+v, %v; want all forgotten", c, err)
		}
		if c, err := e.store.Cleanup(e.Context()); err != nil || c != (leasehold.Cleaned{}) {
			t.Errorf("Cleanup = %+v, %v; want nothing more", c, err)
		}
		e.acquire("h")
		time.Sleep(time.Minute)
		e.service.beforeSwap = func(int, cas.Write) error { return down }
		_, err := e.store.Cleanup(e.Context())
		e.want("Cleanup", err, leasehold.ReasonUnavailable)
	})
}

// Two operations with one proposed id are one after the other, and the second
// does not wait for ever.
func TestProposedIDIsLocked(t *testing.T) {
	inBubble(t, func(e *env) {
		e.service.beforeSwap = func(int, cas.Write) error { time.Sleep(time.Minute); return nil }
		r := request("h")
		r.ID = leasehold.NewID()
		var both sync.WaitGroup
		both.Go(func() { _, _ = e.store.Acquire(e.Context(), r) })
		synctest.Wait()
		_, err := e.store.Acquire(e.Context(), r)
		e.want("Acquire", err, leasehold.ReasonUnavailable)
		both.Wait()
	})
}

// A failed wait whose record cannot be written is still a failed wait.
func TestFailureWithoutARecord(t *testing.T) {
	inBubble(t, func(e *env) {
		e.acquire("h")
		r := request("w")
		r.Timeout = time.Second
		e.service.append = func() error { return down }
		_, err := e.store.Wait(e.Context(), r)
		e.want("Wait", err, leasehold.ReasonTimeout)
		synctest.Wait()
		w := make(chan error)
		go func() { _, err := e.store.Wait(e.Context(), r); w <- err }()
		synctest.Wait()
		e.service.setLoad(func(string) error { return down })
		e.want("Wait", <-w, leasehold.ReasonTimeout)
	})
}

// faulty injects faults at random: races, lost writes, lost answers, refusals.
func faulty(s *service) {
	s.beforeSwap = func(int, cas.Write) error {
		switch rand.N(20) {
		case 0:
			return cas.ErrRaced
		case 1:
			return lost
		case 2:
			return down
		}
		return nil
	}
	s.afterSwap = func(int, cas.Write) error {
		switch rand.N(10) {
		case 0:
			return lost
		case 1:
			return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: cas.ErrRaced} // a client that repeated the write by itself
		}
		return nil
	}
	s.load = func(string) error {
		if rand.N(50) == 0 {
			return down
		}
		return nil
	}
}

func hammer(t *testing.T, s *service, seed uint64) *storetest.Recording {
	store := cas.New(finding{service: s}, &cas.Options{Limit: 2 * time.Second})
	defer store.Close()
	second := cas.New(finding{service: s}, nil) // another process
	defer second.Close()
	rec := storetest.Record(&storetest.Alternate{Stores: []leasehold.Store{store, second}})
	recording := storetest.Hammer(t, rec, &storetest.LoadOptions{Workers: 16, Calls: 60, Resources: 4, Seed: seed, Waiting: true})
	return recording
}

func TestLinearizableUnderFaults(t *testing.T) {
	for seed := range uint64(3) {
		s := newService()
		faulty(s)
		storetest.CheckHistory(t, hammer(t, s, seed))
	}
}

// The checker finds a service that does not compare versions.
func TestCheckerCatchesABrokenService(t *testing.T) {
	for seed := range uint64(20) {
		s := newService()
		s.careless = true
		s.beforeSwap = func(int, cas.Write) error { time.Sleep(rand.N(200 * time.Microsecond)); return nil }
		if err := hammer(t, s, seed).Check(); err != nil && strings.Contains(err.Error(), "not linearizable") {
			return
		}
	}
	t.Error("no recording of a service that ignores versions was refused")
}
