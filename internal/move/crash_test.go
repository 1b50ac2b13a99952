package move_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/soak"
)

func TestRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, source, target := twoStores(t)
		before := source.token
		result := run(t, source, target)
		if result.Copied != 5 || result.Summary.Live != 4 || result.Summary.Ended != 1 || result.Token != before {
			t.Errorf("Run = %+v, want 5 leases, one of them ended, and token %d", result, before)
		}
		w.check()
		w.checkMoved(source, target, 0)
		w.operate()
		w.acquire(target, "r5", time.Minute)
		if again := run(t, source, target); again.Stage != move.Finished {
			t.Errorf("the second Run's stage is %v, want Finished", again.Stage)
		}
	})
}

// calls is how many calls a mover makes in all.
func calls(t *testing.T) (n int) {
	_, source, target := twoStores(t)
	if err := runWith(source, target, func() (error, error) { n++; return nil, nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// at makes the n-th call, and count-1 after it, end with err: not made, or made and
// its answer lost.
func at(n, count int, lost bool, err error) faults {
	return func() (before, after error) {
		n--
		switch {
		case n >= 0 || n < -count:
			return nil, nil
		case lost:
			return nil, err
		}
		return err, nil
	}
}

// Killed at every step, twice, with the answer of that step or without, at once or
// when the source has opened again by itself and clients have gone on.
func TestKilledAtEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := calls(t)
		step := soak.Rounds(4, 1) // make soak kills at every pair of steps
		for first := range 2 * all {
			for second := first % step; second < 2*all; second += step {
				for _, wait := range []time.Duration{0, time.Second, 31 * time.Second} {
					killTwice(t, first, second, wait)
				}
			}
		}
		t.Logf("%d calls, %d runs", all, 2*all*2*all*3/step)
	})
}

func killTwice(t *testing.T, first, second int, wait time.Duration) {
	w, source, target := twoStores(t)
	w.t = named{t, fmt.Sprintf("killed at %d and %d, %v apart: ", first, second, wait)}
	var last time.Time
	for _, point := range []int{first, second} {
		last = time.Now()
		runWith(source, target, at(point/2, 1, point%2 == 1, errKilled))
		w.check()
		w.operate()
		time.Sleep(wait)
		w.check()
		w.operate()
	}
	run(w.t, source, target)
	w.check()
	w.checkMoved(source, target, time.Since(last)+wait)
	w.operate()
}

// named says in which case a test fails.
type named struct {
	*testing.T
	name string
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.T.Fatalf(n.name+format, args...)
}

// Errors that pass are overcome; others leave one store that grants, and the same
// command goes on from there.
func TestFailsAtEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := calls(t)
		for point := range all {
			for _, lost := range []bool{false, true} {
				for _, count := range []int{1, 2, 3, 5, 100} {
					w, source, target := twoStores(t)
					w.t = named{t, fmt.Sprintf("%d errors from call %d on, lost: %v: ", count, point, lost)}
					began := time.Now()
					err := runWith(source, target, at(point, count, lost, errBroken))
					w.check()
					if err == nil {
						w.checkMoved(source, target, time.Since(began))
					} else if !errors.Is(err, errBroken) {
						w.t.Fatalf("Run = %v", err)
					}
					if err != nil && count == 1 && point > 3 { // NewPlan tries nothing twice
						w.t.Fatalf("Run = %v, want one error to be overcome", err)
					}
					w.operate()
					run(w.t, source, target)
					w.checkMoved(source, target, time.Since(began))
				}
			}
		}
	})
}

// stallAt stops the mover before its n-th call until the channel is closed.
func stallAt(n int, stalled chan<- struct{}, resume <-chan struct{}) faults {
	return func() (error, error) {
		if n--; n == -1 {
			close(stalled)
			<-resume
		}
		return nil, nil
	}
}

// A mover that wakes up long after another has done its work changes nothing, nor
// one that wakes up when the source has opened by itself.
func TestStallsAtEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for point := range calls(t) {
			for _, other := range []string{"none", "moves", "moves there and back", "killed"} {
				stallOnce(t, point, other)
			}
		}
	})
}

func stallOnce(t *testing.T, point int, other string) {
	w, source, target := twoStores(t)
	w.t = named{t, fmt.Sprintf("stalled at %d, other mover: %s: ", point, other)}
	began := time.Now()
	stalled, resume, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() { done <- runWith(source, target, stallAt(point, stalled, resume)) }()
	<-stalled
	w.operate()
	switch other {
	case "none":
		time.Sleep(31 * time.Second)
	case "moves":
		run(w.t, source, target)
	case "moves there and back":
		run(w.t, source, target)
		w.operate()
		run(w.t, target, source)
	case "killed":
		runWith(source, target, at(9, 1, false, errKilled))
	}
	w.check()
	w.operate()
	close(resume)
	<-done
	w.check()
	w.operate()
	if mark, _ := source.MoveMark(context.Background()); mark.State != move.Moved {
		run(w.t, source, target)
	}
	w.checkMoved(source, target, time.Since(began))
}

// There and back, and there again: a store that was left may be a target, and tokens
// grow all the time.
func TestThereAndBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, source, target := twoStores(t)
		for range 3 {
			run(t, source, target)
			w.checkMoved(source, target, 0)
			w.operate()
			source, target = target, source
		}
	})
}

func TestRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, a, b := twoStores(t)
		c, d := newFake("third"), newFake("fourth")
		refuse := func(from, to *fake, want string) {
			t.Helper()
			marks := fmt.Sprint(from.id, from.state, to.id, to.state)
			if _, err := move.Run(t.Context(), from, to, options(from, to)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("Run(%s, %s) = %v, want %q", from.name, to.name, err, want)
			}
			if from.state == move.Open && !from.grants() {
				t.Errorf("%s is closed", from.name)
			}
			if now := fmt.Sprint(from.id, from.state, to.id, to.state); from != to && now != marks {
				t.Errorf("the marks of %s and %s are %s, were %s", from.name, to.name, now, marks)
			}
		}
		kill := func(from, to *fake, state move.State) {
			t.Helper()
			for n := 0; from.state != state || state == move.Leaving && to.state != move.Arriving; n++ {
				if n > 100 {
					t.Fatalf("%s never is %q", from.name, state)
				}
				runWith(from, to, at(n, 1, true, errKilled))
			}
		}
		d.history = 1
		refuse(a, d, "fourth is in use: it has a history")
		d.history = 0
		d.acquire("r1", "somebody", time.Minute)
		refuse(a, d, "fourth is in use: it has 1 leases")
		d.release(d.rows["r1"])
		kill(a, b, move.Leaving)
		refuse(d, b, "a move from source to target is not finished; run it again first")
		refuse(b, c, "a move to target is not finished; run it again first: leasehold move --from source --to target --yes")
		refuse(a, c, "source is being moved to target; if that move was interrupted, wait 31s")
		refuse(d, a, "source is itself being moved to target")
		kill(a, b, move.Left)
		refuse(a, a, "the leases of source were moved to target")
		refuse(a, c, "the leases of source were moved to target; third does not have them: name target instead")
		refuse(d, a, "the move from source to target is not finished; run it again first: leasehold move --from source --to target --yes")
		refuse(b, a, "a move to target is not finished")
		run(t, a, b)
		w.checkMoved(a, b, time.Hour)
		refuse(a, d, "the leases of source were moved to target")
		refuse(newFake("empty"), newFake("other"), "empty has never given out a lease; is that the right store?")
	})
}

// The same store twice, under two names: empty but for its token, as after a move to it.
func TestSameStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &reused{newFake("same")}
		s.token = 3
		if _, err := move.Run(t.Context(), s, s, move.Options{From: "one", To: "two"}); err == nil || err.Error() != "one and two are the same store; name two" {
			t.Errorf("Run = %v, want that it is the same store", err)
		}
		if !s.grants() {
			t.Error("the store is closed")
		}
	})
}

// reused is a store that takes no tokens for being in use.
type reused struct{ *fake }

func (r *reused) InUse(context.Context) (string, error) { return "", nil }

// A target under the old name that knows nothing of the move is not the one that has
// the leases.
func TestTargetReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, source, target := twoStores(t)
		for n := 0; source.state != move.Left && n < 100; n++ {
			runWith(source, target, at(n, 1, true, errKilled))
		}
		if _, err := move.Run(t.Context(), source, newFake("target"), options(source, target)); err == nil {
			t.Error("Run to a new store under the target's name went through")
		}
		if len(source.rows) == 0 {
			t.Error("the source has deleted its leases")
		}
	})
}

// A client that comes to the target between the look and the close keeps its lease.
func TestTargetUsedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for point := range calls(t) {
			_, source, target := twoStores(t)
			stalled, resume, done := make(chan struct{}), make(chan struct{}), make(chan error)
			go func() { done <- runWith(source, target, stallAt(point, stalled, resume)) }()
			<-stalled
			row, acquireErr := target.acquire("r1", "somebody", time.Hour)
			close(resume)
			err := <-done
			if acquireErr == nil && err == nil && source.state == move.Moved && target.token <= source.token {
				t.Fatalf("point %d: a target in use was overwritten", point)
			}
			if acquireErr == nil && target.rows["r1"].ID != row.ID {
				t.Fatalf("point %d: the target has lost the lease that it granted", point)
			}
			if err != nil && !source.grants() {
				t.Fatalf("point %d: the source is closed after %v", point, err)
			}
		}
	})
}

// A cancelled move opens the source at once; after the commit point it goes on.
func TestCancelledAtEveryStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for point := range calls(t) {
			w, source, target := twoStores(t)
			w.t = named{t, fmt.Sprintf("cancelled at %d: ", point)}
			ctx, cancel := context.WithCancel(t.Context())
			n := 0
			fault := func() (error, error) {
				if n++; n > point {
					cancel()
				}
				return nil, ctx.Err()
			}
			began := time.Now()
			_, err := move.Run(ctx, faulty{source, fault}, faulty{target, fault}, options(source, target))
			w.check()
			if source.grants() == (source.state == move.Left || source.state == move.Moved) {
				w.t.Fatalf("Run = %v, and the source is %q", err, source.state)
			}
			run(w.t, source, target)
			w.checkMoved(source, target, time.Since(began))
		}
	})
}

// A run whose commit is answered by an error, and that is cancelled then, finds out
// that it has committed, and goes on.
func TestCommitAnswerLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, source, target := twoStores(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lost := false
		fault := func() (error, error) {
			if source.state == move.Left && !lost { // the look that follows
				lost = true
				cancel()
				return ctx.Err(), nil
			}
			return nil, nil
		}
		commit := lossy{faulty{source, fault}}
		if _, err := move.Run(ctx, commit, faulty{target, fault}, options(source, target)); err != nil || !lost {
			t.Errorf("Run = %v, lost: %v", err, lost)
		}
		w.checkMoved(source, target, 0)
	})
}

// lossy loses the answer to the commit.
type lossy struct{ faulty }

func (l lossy) SwapMoveMark(ctx context.Context, old, next move.Mark) error {
	if err := l.f.SwapMoveMark(ctx, old, next); err != nil || next.State != move.Left {
		return err
	}
	return errBroken
}

// A copy that lasts keeps the source closed; one that is too slow gives up.
func TestSlowCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, step := range []time.Duration{5 * time.Second, 40 * time.Second} {
			w, source, target := twoStores(t)
			began := time.Now()
			err := runWith(source, target, func() (error, error) { time.Sleep(step); return nil, nil })
			w.check()
			if wantErr := step > 30*time.Second; (err != nil) != wantErr {
				t.Errorf("Run with steps of %v = %v, want an error: %v", step, err, wantErr)
			}
			if err == nil {
				w.checkMoved(source, target, time.Since(began))
			} else if time.Sleep(31 * time.Second); !source.grants() {
				t.Errorf("the source is closed after %v", err)
			}
		}
	})
}

// A target that drops leases is found out before the commit point.
func TestIncompleteCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, source, target := twoStores(t)
		_, err := move.Run(t.Context(), source, forgetful{target}, options(source, target))
		if err == nil || !strings.Contains(err.Error(), "the copy is not complete") {
			t.Errorf("Run = %v, want that the copy is not complete", err)
		}
		if !source.grants() {
			t.Error("the source is closed")
		}
	})
}

type forgetful struct{ *fake }

func (f forgetful) Import(ctx context.Context, m move.Mark, l []move.Lease) error {
	return f.fake.Import(ctx, m, l[:1])
}
