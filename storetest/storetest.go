// Package storetest defines what a store is: a store is whatever passes Run.
//
// A driver's test is a few lines:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{
//			Open: func(t testing.TB) leasehold.Store {
//				s := mystore.New(client(t))
//				t.Cleanup(func() { s.Close() })
//				return s
//			},
//			Without: []storetest.Capability{storetest.Waiting, storetest.Priorities},
//		})
//	}
//
// How the package is organised:
//
//   - storetest.go: the Harness, which says how to open a store and what it lacks,
//     the list of topics, and Run.
//   - capability.go: what a store may lack. Run fails if the harness is wrong about
//     it; a check runs only if the store has what the check needs.
//   - topic_*.go: the checks, one or two topics a file. A check is a function of an
//     env. New behaviour goes here first, never into one driver's own tests.
//   - env.go, expect.go, waiter.go: what checks are written with. An env is a store
//     of its own, the time that passes, calls that must succeed or fail in a certain
//     way, and waits under way. With Harness.Bubble each check runs in a
//     testing/synctest bubble, where hours take milliseconds; otherwise in real
//     time.
//   - audit.go: what holds at the end of every check: the history has no gaps,
//     agrees with the leases and shows no id.
//   - recorder.go, load.go, linearizable.go: the linearizability check, for tests
//     that break a store on purpose. Hammer makes random calls, a Recorder records
//     calls and answers, CheckHistory expects some order of the calls to explain all
//     answers.
//   - endurance.go: the same in rounds, while a server or a network is broken; and a
//     lease held for minutes.
//   - bench.go: benchmarks of any store.
//
// The package's own tests run the suite on the memory store and on a naive one, and
// show that each flaw built into the naive store fails a check. Random histories of
// both must agree.
package storetest

import (
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
)

// Harness says how to open a store and what it can do.
type Harness struct {
	// Open makes a fresh, empty store, and closes it by t.Cleanup. A check may
	// have closed it before: the second Close must do no harm. With Bubble, it
	// is called inside the bubble.
	Open func(t testing.TB) leasehold.Store

	// Reopen closes the store, if it is open, and opens another one on the same
	// data, closing that by t.Cleanup too. Nil: nothing outlives the store, and
	// the checks of durability do not run.
	Reopen func(t testing.TB, old leasehold.Store) leasehold.Store

	// Bubble runs every check in a synctest bubble, where hours pass in
	// milliseconds and ends are exact. It is for stores that talk to nothing
	// outside the process. Otherwise checks take real time, and the few that
	// would need hours do not run.
	Bubble bool

	// Parallel runs the checks at the same time, because most of their real time
	// is waiting. Open is then called from several goroutines, and its stores
	// must not see each other's leases. It has no effect with Bubble.
	Parallel bool

	// MinTTL and MaxTTL are the store's limits, where narrower than
	// leasehold.MinTTL and leasehold.MaxTTL. Zero: those, or the default of the
	// setting max_ttl_seconds in a store with settings.
	MinTTL, MaxTTL time.Duration

	// MaxResource is the longest resource name in bytes, where shorter than
	// leasehold.MaxResource. Zero: that.
	MaxResource int

	// Slack is how coarse the store's clock is: how late a lease may expire, and
	// how far off Remaining may be. Zero: nothing in a bubble, half a second
	// otherwise.
	Slack time.Duration

	// Queued tells how many wait for a resource: checks need to know when a waiter
	// has arrived. Required of a store that can wait, does not show its queue and is
	// in no bubble.
	Queued func(s leasehold.Store, resource string) int

	// Without lists what the store cannot do. The suite fails if the store can
	// do it all the same, and if it cannot do something that is not listed.
	Without []Capability
}

// check is one rule of the contract.
type check struct {
	name  string
	run   func(e *env)
	needs []Capability
	lacks []Capability // it is about stores without any of these

	// simulated: it takes hours, so it runs only in bubbles.
	simulated bool
	// unbubbled: it runs outside of bubbles, at full speed on all processors.
	// Nothing in it waits for a clock.
	unbubbled bool
	// reopens: it needs Harness.Reopen.
	reopens bool
	// gaps: it switches history off or purges it, so that the audit must not
	// expect a record of everything.
	gaps bool
}

type topic struct {
	name   string
	checks []check
}

// topics is the contract, in the order in which a new store is best built.
func topics() []topic {
	return []topic{
		{"Capabilities", capabilityChecks},
		{"Acquire", acquireChecks},
		{"Conflict", conflictChecks},
		{"IdempotentAcquire", idempotentChecks},
		{"Renew", renewChecks},
		{"Limits", limitChecks},
		{"Expire", expireChecks},
		{"Release", releaseChecks},
		{"Break", breakChecks},
		{"Change", changeChecks},
		{"Transfer", transferChecks},
		{"IDs", idChecks},
		{"Find", findChecks},
		{"Wait", waitChecks},
		{"Fairness", fairnessChecks},
		{"KeptPlaces", keptChecks},
		{"Sets", setChecks},
		{"Modes", modeChecks},
		{"SetIDs", setIDChecks},
		{"SetCalls", setCallChecks},
		{"SetViews", setViewChecks},
		{"SetWait", setWaitChecks},
		{"Reservation", reservationChecks},
		{"Deadlock", deadlockChecks},
		{"Waits", waitsChecks},
		{"Notes", noteChecks},
		{"ForceRelease", forceChecks},
		{"List", listChecks},
		{"ListCursor", listCursorChecks},
		{"History", historyChecks},
		{"HistoryFilter", historyFilterChecks},
		{"Past", pastChecks},
		{"Settings", settingChecks},
		{"HistorySettings", historySettingChecks},
		{"Cleanup", cleanupChecks},
		{"Watch", watchChecks},
		{"Names", nameChecks},
		{"Invalid", invalidChecks},
		{"Context", contextChecks},
		{"Close", closeChecks},
		{"Secrets", secretChecks},
		{"Concurrency", concurrencyChecks},
		{"Durability", durabilityChecks},
		{"Mistakes", mistakeChecks},
	}
}

// Run checks a store against the contract.
func Run(t *testing.T, h Harness) {
	h = h.withDefaults(t)
	together := h.Parallel && !h.Bubble
	slots := make(chan struct{}, 32) // checks at the same time
	each(together, topics(), func(topic topic) {
		t.Run(topic.name, func(t *testing.T) {
			each(together, topic.checks, func(c check) {
				slots <- struct{}{}
				defer func() { <-slots }()
				if h.runs(c) {
					t.Run(c.name, func(t *testing.T) { h.runCheck(t, c) })
				}
			})
		})
	})
}

// each calls f for all of them, together or one after the other. Parallel checks
// mostly sleep, so t.Parallel, which counts processors, would run far too few.
func each[T any](together bool, all []T, f func(T)) {
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() { f(one) })
		if !together {
			running.Wait()
		}
	}
	running.Wait()
}

func (h Harness) withDefaults(t *testing.T) Harness {
	t.Helper()
	if h.Open == nil {
		t.Fatal("storetest: Harness.Open is nil")
	}
	if h.can(Waiting) && !h.can(ShownQueue) && !h.Bubble && h.Queued == nil {
		t.Fatal("storetest: Harness.Queued is nil, and nothing else shows when a waiter has arrived")
	}
	if h.MinTTL == 0 {
		h.MinTTL = leasehold.MinTTL
	}
	if h.MaxTTL == 0 {
		h.MaxTTL = leasehold.MaxTTL
		if h.can(Settings) {
			h.MaxTTL = leasehold.DefaultMaxTTL
		}
	}
	if h.MaxResource == 0 {
		h.MaxResource = leasehold.MaxResource
	}
	if h.Slack == 0 && !h.Bubble {
		h.Slack = 500 * time.Millisecond
	}
	return h
}

// runs reports whether a check concerns the store. Others are left out, not
// skipped: only the harness says what a store lacks.
func (h Harness) runs(c check) bool {
	if c.simulated && !h.Bubble || c.reopens && h.Reopen == nil {
		return false
	}
	for _, need := range c.needs {
		if !h.can(need) {
			return false
		}
	}
	return !slices.ContainsFunc(c.lacks, h.can)
}

func (h Harness) runCheck(t *testing.T, c check) {
	if h.Bubble && !c.unbubbled {
		bubble(t, h, c.body())
		return
	}
	inReal := h
	inReal.Bubble = false
	inReal.Slack = max(h.Slack, 500*time.Millisecond)
	c.body()(newEnv(t, inReal))
}

// body is the check with what holds at the end of every check.
func (c check) body() func(*env) {
	return func(e *env) {
		e.gaps = c.gaps
		c.run(e)
		e.audit()
	}
}

// bubble runs f in a synctest bubble, with a store opened inside it.
func bubble(t *testing.T, h Harness, f func(*env)) {
	synctest.Test(t, func(t *testing.T) { f(newEnv(t, h)) })
}
