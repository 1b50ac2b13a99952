package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/leasehold/leasehold"
)

var waitChecks = []check{
	{name: "FreeResourceIsGrantedAtOnce", run: waitFree, needs: []Capability{Waiting}},
	{name: "WokenByRelease", run: wokenByRelease, needs: []Capability{Waiting}},
	{name: "WokenByBreak", run: wokenByBreak, needs: []Capability{Waiting, Breaking}},
	{name: "WokenByEndOfBreakPeriod", run: wokenByBreakEnd, needs: []Capability{Waiting, Breaking}},
	{name: "WokenByExpiry", run: wokenByExpiry, needs: []Capability{Waiting}},
	{name: "WokenByShorterTTL", run: wokenByShorterTTL, needs: []Capability{Waiting}},
	{name: "NotWokenByRenewal", run: notWokenByRenewal, needs: []Capability{Waiting}},
	{name: "TTLCountsFromTheGrant", run: ttlFromGrant, needs: []Capability{Waiting}},
	{name: "TimesOut", run: waitTimesOut, needs: []Capability{Waiting}},
	{name: "TimedOutWaiterIsGone", run: timedOutIsGone, needs: []Capability{Waiting}},
	{name: "TimeoutAtTheMomentOfExpiry", run: timeoutAtExpiry, needs: []Capability{Waiting}, simulated: true},
	{name: "Cancelled", run: waitCancelled, needs: []Capability{Waiting}},
	{name: "CancelledByDeadline", run: waitDeadline, needs: []Capability{Waiting}},
	{name: "AcquireNeverWaits", run: acquireNeverWaits},
	{name: "ShowsTheQueue", run: showsQueue, needs: []Capability{ShownQueue}},
	{name: "FailuresAreRecorded", run: waitFailuresRecorded, needs: []Capability{Waiting, History}},
	{name: "AbandonedIsRecorded", run: abandonedRecorded, needs: []Capability{CancelRecords}},
}

func waitFree(e *env) {
	w := e.wait(e.request("r", "h"))
	g := w.atOnce()
	if g.Idempotent {
		e.Error("Wait on a free resource is called idempotent")
	}
	w.waited(0)
	e.held(g.Lease)
}

func wokenByRelease(e *env) {
	g := e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.pass(e.short / 4)
	w.still()
	e.release(g.Lease)
	next := w.atOnce()
	w.waited(e.short / 4)
	if next.Token <= g.Token {
		e.Errorf("the waiter's token is %d, after %d", next.Token, g.Token)
	}
	e.held(next.Lease)
}

func wokenByBreak(e *env) {
	e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.breakIn("r", 0)
	e.held(w.atOnce().Lease)
}

func wokenByBreakEnd(e *env) {
	e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	period := e.breakPeriod()
	e.breakIn("r", period)
	w.still()
	g := w.granted()
	if e.h.Bubble { // elsewhere a try may be sent before the end and come after it
		w.waited(period)
	}
	e.held(g.Lease)
}

func wokenByExpiry(e *env) {
	e.grant(e.brief("r", "h"))
	e.pass(e.short / 4)
	w := e.wait(e.request("r", "w"))
	g := w.granted()
	if e.h.Bubble {
		w.waited(e.short - e.short/4)
	}
	e.held(g.Lease)
}

func wokenByShorterTTL(e *env) {
	g := e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.renewFor(g.Lease, e.short)
	w.granted()
	if e.h.Bubble {
		w.waited(e.short)
	}
}

func notWokenByRenewal(e *env) {
	g := e.grant(e.brief("r", "h"))
	w := e.wait(e.request("r", "w"))
	for range 2 {
		e.pass(e.short / 2)
		w.still()
		e.renew(g.Lease)
	}
	w.still()
	w.granted()
	if e.h.Bubble {
		w.waited(2 * e.short)
	}
}

func ttlFromGrant(e *env) {
	g := e.acquire("r", "h")
	w := e.wait(e.brief("r", "w"))
	e.pass(e.short + e.short/2)
	e.release(g.Lease)
	next := w.atOnce() // received checks that all of the ttl remains
	e.held(next.Lease)
	e.renew(next.Lease)
}

func waitTimesOut(e *env) {
	g := e.acquire("r", "h")
	r := e.request("r", "w")
	r.Timeout = 1500 * time.Millisecond
	err := e.reason("Wait", e.wait(r).failed(), leasehold.ReasonTimeout)
	if err.Waited < r.Timeout || err.Waited > e.atMost(r.Timeout+e.moments()) || e.h.Bubble && err.Waited != r.Timeout {
		e.Errorf("Wait: Waited = %v, want %v", err.Waited, r.Timeout)
	}
	e.held(g.Lease)
}

func timedOutIsGone(e *env) {
	g := e.acquire("r", "h")
	r := e.request("r", "w")
	r.Timeout = time.Second
	e.wait(r).failed()
	e.release(g.Lease)
	e.waitIdle()
	e.free("r")
	e.acquire("r", "other")
}

// timeoutAtExpiry: either may win, but a waiter that timed out holds nothing.
func timeoutAtExpiry(e *env) {
	for range 20 {
		e.grant(e.brief("r", "h"))
		r := e.request("r", "w")
		r.Timeout = e.short
		w := e.wait(r)
		w.answered()
		e.waitIdle()
		if w.err == nil {
			e.release(w.granted().Lease)
		} else {
			e.reason("Wait", w.err, leasehold.ReasonTimeout)
		}
		e.free("r")
	}
}

func waitCancelled(e *env) {
	g := e.acquire("r", "h")
	w := e.wait(e.request("r", "w"))
	e.pass(e.short / 4)
	cause := errors.New("the caller thought better of it")
	w.cancel(cause)
	err := w.failed()
	e.reason("Wait", err, leasehold.ReasonCancelled)
	if !errors.Is(err, cause) {
		e.Errorf("Wait = %v, want it to wrap the context's cause", err)
	}
	e.release(g.Lease)
	e.waitIdle()
	e.free("r")

	plain := e.acquire("r", "h")
	w = e.wait(e.request("r", "w"))
	if err := w.abandon(); !errors.Is(err, context.Canceled) {
		e.Errorf("Wait = %v, want it to wrap context.Canceled", err)
	}
	e.held(plain.Lease)
}

func waitDeadline(e *env) {
	e.acquire("r", "h")
	ctx, cancel := context.WithTimeout(e.Context(), e.short/4)
	defer cancel()
	r := e.request("r", "w")
	r.Timeout = leasehold.NoTimeout
	_, err := power[leasehold.Waiter](e).Wait(ctx, r)
	e.reason("Wait", err, leasehold.ReasonCancelled)
	if !errors.Is(err, context.DeadlineExceeded) {
		e.Errorf("Wait = %v, want it to wrap context.DeadlineExceeded", err)
	}
}

func acquireNeverWaits(e *env) {
	e.acquire("r", "h")
	r := e.request("r", "other")
	r.Timeout = time.Hour
	start := time.Now()
	e.refused(r, leasehold.ReasonHeld)
	if took := time.Since(start); took > e.atMost(e.moments()) || e.h.Bubble && took != 0 {
		e.Errorf("Acquire with a timeout took %v, want an answer at once", took)
	}
}

func showsQueue(e *env) {
	before := time.Now()
	e.acquire("r", "h")
	for _, holder := range []string{"a", "b", "c"} {
		e.wait(e.request("r", holder))
	}
	e.wait(e.request("other", "x")).granted()
	s := e.status("r")
	if len(s.Waiters) != 3 {
		e.Fatalf("Status shows %d waiters, want 3", len(s.Waiters))
	}
	for i, want := range []string{"a", "b", "c"} {
		w := s.Waiters[i]
		if w.Holder != want || w.Priority != 0 || w.Since.Before(before.Add(-time.Minute)) {
			e.Errorf("waiter %d = %+v, want %q", i+1, w, want)
		}
	}
	if n := len(e.status("other").Waiters); n != 0 {
		e.Errorf("Status of another resource shows %d waiters", n)
	}
}

func waitFailuresRecorded(e *env) {
	e.acquire("r", "h")
	r := e.request("r", "late")
	r.Timeout = time.Second
	e.wait(r).failed()
	e.pass(decided)
	e.failedOnce("late", "timeout")
	e.refused(e.request("r", "plain"), leasehold.ReasonHeld)
	e.failedOnce("late", "timeout") // and no record of a plain refusal
}

func abandonedRecorded(e *env) {
	e.acquire("r", "h")
	e.wait(e.request("r", "gone")).abandon()
	e.pass(decided)
	e.failedOnce("gone", "cancelled")
}

// failedOnce expects the record of one failed wait.
func (e *env) failedOnce(holder, why string) {
	e.Helper()
	var failed []leasehold.Record
	e.eventually("a record of the failed wait", func() bool {
		failed = readHistory(e.TB, e.store, leasehold.HistoryRequest{Kind: leasehold.KindFailed})
		return len(failed) > 0
	})
	if f := failed[0]; len(failed) != 1 || f.Holder != holder || f.Why != why || f.Resource != "r" {
		e.Errorf("records of failed waits = %+v, want that of %q, %q", failed, holder, why)
	}
}
