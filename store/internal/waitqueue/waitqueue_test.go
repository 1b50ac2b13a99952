package waitqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// service is a lease service far away: one lease, and a call takes a moment.
type service struct {
	t      *testing.T
	queues *Queues
	delay  time.Duration // how long a call takes

	mu     sync.Mutex
	lease  leasehold.Lease
	ends   time.Time // zero: never
	held   bool
	tries  int
	served []string
	fail   []error  // what the next tries answer
	failed []string // waits that were reported
}

// inBubble runs f in a bubble with a service whose queues are closed afterwards.
func inBubble(t *testing.T, f func(t *testing.T, s *service)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &service{t: t}
		s.queues = New(Options{Store: "far", Try: s.try, Repeat: s.repeat, Release: s.release, Failed: s.report})
		defer s.queues.Close()
		f(t, s)
	})
}

func (s *service) try(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	time.Sleep(s.delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries++
	if len(s.fail) > 0 {
		err := s.fail[0]
		if s.fail = s.fail[1:]; err != nil {
			return leasehold.Grant{}, err
		}
	}
	if s.held && (s.ends.IsZero() || time.Now().Before(s.ends)) {
		if !r.ID.IsZero() && r.ID == s.lease.ID {
			return leasehold.Grant{Lease: s.lease, Idempotent: true}, nil
		}
		current := s.lease
		current.ID, current.Remaining = leasehold.ID{}, leasehold.Infinite
		if !s.ends.IsZero() {
			current.Remaining = time.Until(s.ends)
		}
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonHeld, Current: &current}
	}
	s.grant(r.Resource, r.Holder, r.ID, r.TTL)
	s.served = append(s.served, r.Holder)
	return leasehold.Grant{Lease: s.lease}, nil
}

func (s *service) grant(resource, holder string, id leasehold.ID, ttl time.Duration) {
	if id.IsZero() {
		id = leasehold.NewID()
	}
	s.held = true
	s.lease = leasehold.Lease{ID: id, Resource: resource, Holder: holder, Token: s.lease.Token + 1, TTL: ttl, Remaining: ttl}
	s.ends = time.Time{}
	if ttl != leasehold.Infinite {
		s.ends = time.Now().Add(ttl)
	}
}

// hold gives the lease to somebody in another process.
func (s *service) hold(ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grant("r", "elsewhere", leasehold.ID{}, ttl)
}

// free frees it without a notice.
func (s *service) free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

func (s *service) release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	s.mu.Lock()
	if !s.held || s.lease.ID != r.ID {
		s.t.Errorf("release of a lease that is not there: %+v", r)
	}
	if r.Why != leasehold.WhyAbandoned || ctx.Err() != nil {
		s.t.Errorf("release with the reason %q, context %v", r.Why, ctx.Err())
	}
	s.held = false
	s.mu.Unlock()
	s.queues.Wake(r.Resource)
	return leasehold.Lease{}, nil
}

func (s *service) report(_ context.Context, r leasehold.AcquireRequest, why string, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = append(s.failed, r.Holder+" "+why)
}

// reported returns the failed waits that were reported.
func (s *service) reported() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.failed)
}

func (s *service) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tries
}

// waiting is a Wait under way.
type waiting struct {
	t      *testing.T
	cancel context.CancelCauseFunc
	done   chan struct{}
	grant  leasehold.Grant
	err    error
	at     time.Time
}

func request(holder string) leasehold.AcquireRequest {
	return leasehold.AcquireRequest{Resource: "r", Holder: holder, TTL: time.Minute, Timeout: leasehold.NoTimeout}
}

// wait starts a wait and returns when it waits or has its answer.
func (s *service) wait(r leasehold.AcquireRequest) *waiting {
	w := s.start(r)
	synctest.Wait()
	return w
}

func (s *service) start(r leasehold.AcquireRequest) *waiting {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	w := &waiting{t: s.t, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.grant, w.err = s.queues.Wait(ctx, r)
		w.at = time.Now()
	}()
	s.t.Cleanup(func() { cancel(nil) })
	return w
}

func (w *waiting) granted() leasehold.Grant {
	w.t.Helper()
	<-w.done
	if w.err != nil {
		w.t.Fatalf("Wait = %v, want a grant", w.err)
	}
	return w.grant
}

func (w *waiting) refused(reason leasehold.Reason) *leasehold.Error {
	w.t.Helper()
	<-w.done
	var e *leasehold.Error
	if !errors.As(w.err, &e) || e.Reason != reason {
		w.t.Fatalf("Wait = %v, want %s", w.err, reason)
	}
	return e
}

func (w *waiting) still() {
	w.t.Helper()
	synctest.Wait()
	select {
	case <-w.done:
		w.t.Fatalf("Wait = %v, %v; want it to wait on", w.grant, w.err)
	default:
	}
}

func TestFreeIsGrantedAtOnce(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = time.Second
		if g := s.start(request("a")).granted(); g.Waited != 0 || g.Holder != "a" {
			t.Errorf("grant = %+v, want it at once", g)
		}
		if n := s.queues.Waiting("r"); n != 0 {
			t.Errorf("%d wait after the grant", n)
		}
	})
}

func TestWokenByWake(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		w := s.wait(request("a"))
		time.Sleep(time.Second)
		w.still()
		s.free()
		s.delay = time.Millisecond
		s.queues.Wake("r")
		s.queues.Wake("nobody waits for this")
		if g := w.granted(); g.Waited != time.Second {
			t.Errorf("Waited = %v, want the second until the try was sent", g.Waited)
		}
	})
}

func TestWokenByWakeAll(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		w := s.wait(request("a"))
		s.free()
		s.queues.WakeAll()
		synctest.Wait()
		if g := w.granted(); g.Waited != 0 {
			t.Errorf("Waited = %v", g.Waited)
		}
	})
}

func TestWokenByTheEndOfTheLease(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(3 * time.Second)
		a := s.wait(request("a"))
		if g := a.granted(); g.Waited != 3*time.Second {
			t.Errorf("Waited = %v, want 3s", g.Waited)
		}
		if n := s.count(); n != 2 {
			t.Errorf("%d tries, want one at the start and one at the end", n)
		}
	})
}

// The next waiter knows the end of its predecessor's lease without a try.
// A look shortly before the end does not put off the try at the end.
func TestNoLookShortlyBeforeTheEnd(t *testing.T) {
	for n := range 2000 { // the look is at random, within two seconds
		ttl := 4*time.Second + time.Duration(n)*time.Millisecond
		inBubble(t, func(t *testing.T, s *service) {
			s.hold(ttl)
			if g := s.wait(request("a")).granted(); g.Waited != ttl {
				t.Errorf("waited %v for a lease that ended after %v", g.Waited, ttl)
			}
		})
	}
}

func TestTheNextOneKnowsTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(time.Second)
		first := request("a")
		first.TTL = 2 * time.Second
		a, b := s.wait(first), s.wait(request("b"))
		a.granted()
		if g := b.granted(); g.Waited != 3*time.Second {
			t.Errorf("Waited = %v, want 3s", g.Waited)
		}
		if n := s.count(); n != 3 {
			t.Errorf("%d tries, want 3", n)
		}
	})
}

func TestRetryAfterIsTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(2 * time.Second)
		s.fail = []error{&leasehold.Error{Reason: leasehold.ReasonBreaking, RetryAfter: 3 * time.Second,
			Current: &leasehold.Lease{Remaining: 2 * time.Second}}}
		if g := s.wait(request("a")).granted(); g.Waited != 3*time.Second {
			t.Errorf("Waited = %v, want what RetryAfter says", g.Waited)
		}
	})
}

func TestEndsIn(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(4 * time.Second)
		w := s.wait(request("a"))
		s.hold(2 * time.Second)
		s.queues.EndsIn("r", 2*time.Second)
		s.queues.EndsIn("r", 3*time.Second) // later than known: no news
		s.queues.EndsIn("r", leasehold.Infinite)
		s.queues.EndsIn("other", time.Second)
		if g := w.granted(); g.Waited != 2*time.Second {
			t.Errorf("Waited = %v, want 2s", g.Waited)
		}
		w = s.wait(request("b"))
		s.free()
		s.queues.EndsIn("r", 0)
		if g := w.granted(); g.Waited != 0 {
			t.Errorf("Waited = %v, want none: a lease without rest is a wake-up", g.Waited)
		}
	})
}

func TestLooksEveryFewSeconds(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		w := s.wait(request("a"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := s.count(); n < 100 || n > 150 {
			t.Errorf("%d tries in 10 minutes, want one every 4 to 6 s", n)
		}
		s.free()
		freed := time.Now()
		w.granted()
		if took := w.at.Sub(freed); took > 6*time.Second {
			t.Errorf("a lost notice cost %v", took)
		}
	})
}

func TestOnlyTheFirstTries(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		for i := range 1000 {
			s.start(request(fmt.Sprint(i)))
		}
		synctest.Wait()
		if n := s.count(); n != 1 {
			t.Errorf("%d tries for 1000 waiters, want 1", n)
		}
	})
}

func TestFirstComeFirstServed(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		join := func(holder string, priority int) *waiting {
			r := request(holder)
			r.Priority = priority
			return s.wait(r)
		}
		all := []*waiting{join("low", -1), join("a", 0), join("high", 7), join("b", 0), join("high2", 7)}
		want := []string{"high", "high2", "a", "b", "low"}
		var shown []string
		for i, p := range s.queues.Waiters("r") {
			shown = append(shown, p.Holder)
			if p.Position != i+1 || p.Since.IsZero() {
				t.Errorf("place %d = %+v", i+1, p)
			}
		}
		if !slices.Equal(shown, want) || s.queues.Waiting("r") != 5 || s.queues.Waiters("other") != nil {
			t.Errorf("Waiters = %q, want %q", shown, want)
		}
		for range want {
			s.free()
			s.queues.Wake("r")
			synctest.Wait()
		}
		for _, w := range all {
			w.granted()
		}
		if !slices.Equal(s.served, want) {
			t.Errorf("served %q, want %q", s.served, want)
		}
	})
}

// A wake-up that comes while the answer of a try is under way means that the
// answer is old.
func TestWakeDuringATry(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		s.fail = []error{&leasehold.Error{Reason: leasehold.ReasonHeld}}
		s.delay = time.Second
		w := s.wait(request("a"))
		s.free()
		s.queues.Wake("r")
		if g := w.granted(); g.Waited != time.Second {
			t.Errorf("Waited = %v, want the second try right after the first", g.Waited)
		}
	})
}

func TestYieldWaitsForTheTryThatIsDue(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.queues.Yield(t.Context(), "r") // nobody waits
		s.hold(leasehold.Infinite)
		w := s.wait(request("a"))
		s.queues.Yield(t.Context(), "r") // nothing is due
		s.delay = 100 * time.Millisecond
		s.free()
		s.queues.Wake("r")
		start := time.Now()
		s.queues.Yield(t.Context(), "r")
		if took := time.Since(start); took != s.delay {
			t.Errorf("Yield took %v, want the try's %v", took, s.delay)
		}
		w.granted()
	})
}

func TestYieldIsBounded(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		s.delay = time.Hour
		s.wait(request("a"))
		start := time.Now()
		s.queues.Yield(t.Context(), "r")
		if took := time.Since(start); took != yieldFor {
			t.Errorf("Yield took %v, want at most %v", took, yieldFor)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		s.queues.Yield(ctx, "r")
		if took := time.Since(start); took != yieldFor+time.Millisecond {
			t.Errorf("Yield took %v after its context ended", took)
		}
	})
}

func TestTimesOut(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(time.Hour)
		r := request("a")
		r.Timeout = 90 * time.Second
		first := s.wait(r)
		r.Timeout = 0
		second := s.wait(r)
		e := second.refused(leasehold.ReasonTimeout)
		if e.Waited != DefaultTimeout || e.Store != "far" || e.Op != "acquire" || e.Waiting != 1 {
			t.Errorf("error = %+v, want the default timeout", e)
		}
		e = first.refused(leasehold.ReasonTimeout)
		if e.Waited != 90*time.Second || e.Current == nil || e.Current.Holder != "elsewhere" ||
			e.Current.Remaining != time.Hour-90*time.Second || e.RetryAfter != e.Current.Remaining {
			t.Errorf("error = %+v, want who holds it and for how long", e)
		}
		synctest.Wait()
		if !slices.Equal(s.reported(), []string{"a timeout", "a timeout"}) {
			t.Errorf("reported %q", s.reported())
		}
	})
}

func TestTimeoutDuringATryWaitsForIt(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = 2 * time.Second
		r := request("a")
		r.Timeout = time.Second
		s.start(r).granted()

		s.hold(leasehold.Infinite)
		e := s.start(r).refused(leasehold.ReasonTimeout)
		if e.Waited != 2*time.Second || e.Current == nil || e.RetryAfter != 0 {
			t.Errorf("error = %+v", e)
		}
	})
}

// An error does not name a holder whose lease has ended since.
func TestTimeoutAfterTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(time.Second)
		s.delay = time.Second
		r := request("a")
		r.Timeout = 2500 * time.Millisecond
		s.fail = []error{nil, &leasehold.Error{Reason: leasehold.ReasonUnavailable}, &leasehold.Error{Reason: leasehold.ReasonUnavailable}}
		s.ends = time.Now().Add(1500 * time.Millisecond)
		if e := s.start(r).refused(leasehold.ReasonTimeout); e.Current != nil {
			t.Errorf("error = %+v, want no holder", e)
		}
	})
}

func TestCancelled(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		w, next := s.wait(request("a")), s.wait(request("b"))
		cause := errors.New("had enough")
		w.cancel(cause)
		e := w.refused(leasehold.ReasonCancelled)
		if !errors.Is(e, cause) {
			t.Errorf("Wait = %v, want it to wrap the cause", e)
		}
		s.free()
		s.queues.Wake("r")
		next.granted()
		if !slices.Equal(s.reported(), []string{"a cancelled"}) {
			t.Errorf("reported %q", s.reported())
		}
	})
}

func TestAlreadyCancelledTriesNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.queues.Wait(ctx, request("a"))
		if leasehold.ReasonOf(err) != leasehold.ReasonCancelled || s.count() != 0 {
			t.Errorf("Wait = %v after %d tries", err, s.count())
		}
	})
}

// The waiter whose turn it was has gone: the wake-up is the next one's.
func TestAWakeOfOneThatLeavesIsNotLost(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		a, b := s.wait(request("a")), s.wait(request("b"))
		s.free()
		a.cancel(nil)
		s.queues.Wake("r")
		<-a.done
		synctest.Wait()
		if a.err == nil {
			s.queues.Release(a.grant)
		}
		b.granted()
		if b.at.After(a.at.Add(time.Millisecond)) {
			t.Errorf("the next one got it %v later", b.at.Sub(a.at))
		}
	})
}

// Release is what a store does for a caller of the tests.
func (q *Queues) Release(g leasehold.Grant) {
	q.opts.Release(context.Background(), leasehold.ReleaseRequest{ID: g.ID, Resource: g.Resource, Why: leasehold.WhyAbandoned})
}

func TestUnreceivedGrantIsReleased(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = time.Second
		w := s.wait(request("a"))
		next := s.wait(request("b"))
		w.cancel(nil)
		w.refused(leasehold.ReasonCancelled)
		next.granted()
	})
}

func TestUnreceivedGrantWithAnIDStays(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = time.Second
		r := request("a")
		r.ID = leasehold.NewID()
		w := s.wait(r)
		other := s.wait(request("b"))
		w.cancel(nil)
		w.refused(leasehold.ReasonUnknown)
		other.still()
		again := s.start(r)
		if g := again.granted(); !g.Idempotent || g.ID != r.ID {
			t.Errorf("grant = %+v, want the same lease, though another one waits", g)
		}
		other.still()
	})
}

func TestTheCallersEndSaysNothingAboutTheService(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		a, b := s.wait(request("a")), s.wait(request("b"))
		s.free()
		s.delay = time.Second
		s.fail = []error{&leasehold.Error{Reason: leasehold.ReasonUnavailable}}
		s.queues.Wake("r")
		synctest.Wait()
		a.cancel(nil)
		a.refused(leasehold.ReasonCancelled)
		if g := b.granted(); g.Waited != time.Second {
			t.Errorf("Waited = %v, want the try right after that of the one who left", g.Waited)
		}
	})
}

func TestOutages(t *testing.T) {
	down := &leasehold.Error{Reason: leasehold.ReasonUnavailable, Cause: errors.New("no route")}
	limited := &leasehold.Error{Reason: leasehold.ReasonRateLimited, RetryAfter: 4 * time.Second}
	t.Run("FirstTryAlone", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.fail = []error{down}
			s.wait(request("a")).refused(leasehold.ReasonUnavailable)
			s.wait(request("b")).granted()
		})
	})
	t.Run("AShortOneCostsNoPlace", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.hold(leasehold.Infinite)
			a, b := s.wait(request("a")), s.wait(request("b"))
			s.fail = []error{down, down, limited}
			s.free()
			s.queues.Wake("r")
			if g := a.granted(); g.Waited < 4*time.Second || g.Waited > 6*time.Second {
				t.Errorf("Waited = %v, want what the service asked for and a little", g.Waited)
			}
			b.still()
		})
	})
	t.Run("ALongOneEndsAllWaits", func(t *testing.T) {
		inBubble(t, func(t *testing.T, s *service) {
			s.hold(leasehold.Infinite)
			a, b := s.wait(request("a")), s.wait(request("b"))
			s.fail = []error{down, down, down, down, down, down}
			s.queues.Wake("r")
			if e := a.refused(leasehold.ReasonUnavailable); !errors.Is(e, down.Cause) {
				t.Errorf("Wait = %v, want the cause", e)
			}
			if e := b.refused(leasehold.ReasonUnavailable); e.Waited < 2*time.Second || e.Waited > 4*time.Second {
				t.Errorf("Waited = %v, want about three seconds", e.Waited)
			}
			if n := s.queues.Waiting("r"); n != 0 {
				t.Errorf("%d wait after all were dismissed", n)
			}
		})
	})
}

func TestAnErrorEndsOnlyItsOwnWait(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		a, b := s.wait(request("a")), s.wait(request("b"))
		s.free()
		s.fail = []error{&leasehold.Error{Reason: leasehold.ReasonIDInUse}}
		s.queues.Wake("r")
		a.refused(leasehold.ReasonIDInUse)
		if g := b.granted(); g.Waited != 0 {
			t.Errorf("Waited = %v, want the next try at once", g.Waited)
		}
	})
}

// A store that reports nothing of a remainder is not tried in a tight loop.
func TestNoTightLoop(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		for range 1000 {
			s.fail = append(s.fail, &leasehold.Error{Reason: leasehold.ReasonHeld, Current: &leasehold.Lease{}})
		}
		s.wait(request("a"))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := s.count(); n > 201 {
			t.Errorf("%d tries in a second", n)
		}
	})
}

func TestClose(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.hold(leasehold.Infinite)
		a, b := s.wait(request("a")), s.wait(request("b"))
		s.queues.Close()
		a.refused(leasehold.ReasonUnavailable)
		b.refused(leasehold.ReasonUnavailable)
		s.queues.Close()
		if e := s.wait(request("c")).refused(leasehold.ReasonUnavailable); e.Store != "far" {
			t.Errorf("Wait after Close = %+v", e)
		}
		s.queues.Wake("r")
		s.queues.Yield(t.Context(), "r")
		if len(s.reported()) > 0 {
			t.Errorf("reported %q, want nothing for a store that closes", s.reported())
		}
	})
}

func TestCloseLetsATryEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = time.Second
		w := s.wait(request("a"))
		s.queues.Close()
		w.granted()
	})
}

// Under load from all sides, one holder at a time and everybody is served.
func TestManyWaiters(t *testing.T) {
	inBubble(t, func(t *testing.T, s *service) {
		s.delay = time.Millisecond
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				r := request(fmt.Sprint(i))
				r.Priority = i % 3
				if i%5 == 0 {
					r.ID = leasehold.NewID()
				}
				w := s.start(r)
				if i%7 == 0 {
					time.Sleep(time.Duration(i) * time.Millisecond / 2)
					w.cancel(nil)
				}
				<-w.done
				if leasehold.ReasonOf(w.err) == leasehold.ReasonUnknown {
					w = s.start(r)
					<-w.done
				}
				if w.err == nil {
					time.Sleep(time.Millisecond)
					s.queues.Release(w.grant)
				}
			})
		}
		all.Wait()
		synctest.Wait()
		if n := s.queues.Waiting("r"); n != 0 || s.held {
			t.Errorf("at the end %d wait, held = %v", n, s.held)
		}
	})
}
