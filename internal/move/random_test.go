package move_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
)

// mover is a run of the command whose every call waits for the test.
type mover struct {
	calls chan chan ending // the mover is about to make a call, and waits for how it ends
	done  chan struct{}
}

type ending struct{ before, after error }

func start(from, to *fake) *mover {
	m := &mover{calls: make(chan chan ending), done: make(chan struct{})}
	fault := func() (error, error) {
		how := make(chan ending)
		m.calls <- how
		e := <-how
		return e.before, e.after
	}
	go func() {
		defer close(m.done)
		move.Run(context.Background(), faulty{from, fault}, faulty{to, fault}, options(from, to))
	}()
	return m
}

// step lets the mover make one call; false if it is done.
func (m *mover) step(e ending) bool {
	select {
	case how := <-m.calls:
		how <- e
		synctest.Wait() // it stands before the next call
		return true
	case <-m.done:
		return false
	}
}

// step is one thing that happens; A and B say to whom.
type step struct {
	Do   string
	A, B int
}

var doings = []string{
	"start", "go on", "go on", "go on", "go on", "go on", "go on", "kill", "kill late", "fail", "lose",
	"pass", "pass long", "acquire", "acquire for long", "renew", "release",
}

func steps() *rapid.Generator[[]step] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
		return step{rapid.SampledFrom(doings).Draw(t, "do"), rapid.IntRange(0, 6).Draw(t, "a"), rapid.IntRange(0, 6).Draw(t, "b")}
	}), 30, 200) // shorter ones rarely come to an end
}

// Movers in both directions between three stores, killed, stalled, cut off, among
// operations of clients and leaps of time.
func TestRandomInterleavings(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		all := steps().Draw(r, "steps")
		if failed := inBubble(t, func(t tester) { interleave(t, all) }); failed != "" {
			r.Fatalf("%s", failed)
		}
	})
}

// failure ends a test inside of a bubble.
type failure string

type failer struct{}

func (failer) Helper() {}

func (failer) Fatalf(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

// inBubble runs body in a bubble of its own, and returns how it failed.
func inBubble(t *testing.T, body func(tester)) (failed failure) {
	synctest.Test(t, func(*testing.T) {
		defer func() {
			switch p := recover().(type) {
			case nil:
			case failure:
				failed = p
			default:
				panic(p)
			}
		}()
		body(failer{})
	})
	return failed
}

func interleave(t tester, all []step) {
	stores := []*fake{newFake("a"), newFake("b"), newFake("c")}
	w := newWorld(t, stores...)
	w.acquire(stores[0], "r0", leasehold.Infinite)
	stores[0].settings["max_leases"] = int64(3)
	var movers []*mover
	killAll := func() {
		for _, m := range movers {
			for m.step(ending{before: errKilled}) {
			}
		}
	}
	defer killAll()
	for _, s := range all {
		resource := fmt.Sprint("r", s.B)
		used := w.used()
		store := used[s.A%len(used)]
		switch s.Do {
		case "start": // a source that nobody has used would be another service's
			movers = append(movers, start(store, stores[s.B%3]))
		case "pass":
			time.Sleep(time.Duration(s.A) * time.Second)
		case "pass long":
			time.Sleep(time.Duration(15+s.A*3) * time.Second)
		case "acquire":
			w.acquire(store, resource, 40*time.Second)
		case "acquire for long":
			w.acquire(store, resource, 10*time.Minute)
		case "renew":
			w.renew(store, resource)
		case "release":
			w.release(store, resource)
		default:
			if len(movers) > 0 {
				movers[s.A%len(movers)].advance(s.Do, s.B)
			}
		}
		w.check()
	}
	killAll()
	complete(w)
}

var errBroken = errors.New("broken")

// advance lets the mover make some calls, the last of which may end badly.
func (m *mover) advance(how string, calls int) {
	for range calls {
		m.step(ending{})
	}
	switch how {
	case "kill":
		m.step(ending{before: errKilled})
	case "kill late":
		m.step(ending{after: errKilled})
	case "fail":
		m.step(ending{before: errBroken})
	case "lose":
		m.step(ending{after: errBroken})
	}
}

// complete runs the moves that are not finished again, as their errors advise, until
// one store grants; then all leases are there.
func complete(w *world) {
	time.Sleep(31 * time.Second)
	byName := map[string]*fake{}
	for _, f := range w.stores {
		byName[f.name] = f
	}
	for range w.stores {
		for _, f := range w.stores {
			if f.state == move.Left {
				run(w.t, f, byName[f.peer])
			}
		}
	}
	var owner *fake
	var marks []string
	for _, f := range w.used() {
		if f.grants() {
			owner = f
		}
	}
	w.check()
	if owner == nil {
		for _, f := range w.stores {
			marks = append(marks, fmt.Sprintf("%s %q by %s", f.name, f.state, f.id))
		}
		w.t.Fatalf("no store grants: %v", marks)
	}
	for _, f := range w.stores {
		if f != owner && f.state != move.Arriving && len(f.rows) > 0 {
			w.t.Fatalf("%s grants, and %s has leases", owner.name, f.name)
		}
	}
	for resource := range w.held {
		w.renew(owner, resource)
		w.acquire(owner, resource, time.Minute)
	}
	if owner.settings["max_leases"] != int64(3) {
		w.t.Fatalf("the settings are %v", owner.settings)
	}
}
