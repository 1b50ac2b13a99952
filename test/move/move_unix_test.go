//go:build unix

package move_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
	"github.com/leasehold/leasehold/internal/soak"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/test/process"
)

// mover is the program that moves.
type mover struct {
	program string
	urls    [2]string
}

// run moves and is killed when ctx ends. It returns the exit code, less than zero if it
// was killed.
func (m mover) run(ctx context.Context, from, to int) (int, string) {
	cmd := exec.CommandContext(ctx, m.program, "move", "--from", m.urls[from], "--to", m.urls[to], "--yes", "--reopen-after", "2s")
	out, _ := cmd.CombinedOutput()
	return cmd.ProcessState.ExitCode(), string(out)
}

func openMovable(t *testing.T, url string) open.Movable {
	t.Helper()
	s, err := open.Move(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

// lasting are leases that stay the same, with all that there is to keep.
type lasting map[string]promise

type promise struct {
	row  machine.Row
	ends time.Time // at least; zero: never
}

func acquireLasting(t *testing.T, s leasehold.Store, n int) lasting {
	t.Helper()
	all := lasting{}
	for i := range n {
		r := leasehold.AcquireRequest{
			Resource: fmt.Sprintf("lasting-%06d", i), Holder: fmt.Sprintf("holder %d ☃", i%7), TTL: time.Hour,
			Metadata: map[string]string{"number": fmt.Sprint(i)},
		}
		if i%10 == 0 {
			r.TTL = leasehold.Infinite
		}
		sent := time.Now()
		g, err := s.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		p := promise{ends: sent.Add(r.TTL), row: machine.Row{
			Resource: r.Resource, Holder: r.Holder, ID: g.ID, Token: g.Token, State: leasehold.StateActive, TTL: r.TTL,
			Acquired: g.AcquiredAt.UnixMilli(), Renewed: g.RenewedAt.UnixMilli(), MaxRenewals: leasehold.Unlimited, Metadata: r.Metadata,
		}}
		if r.TTL == leasehold.Infinite {
			p.ends = time.Time{}
		}
		all[r.Resource] = p
	}
	return all
}

// check says that a store has all of them as they were given out.
func (all lasting) check(t *testing.T, s move.Store) {
	t.Helper()
	seen := 0
	for after := ""; ; {
		page, err := s.Export(t.Context(), after, 500)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, l := range page {
			after = l.Row.Resource
			if p, ok := all[l.Row.Resource]; ok {
				seen++
				p.check(t, l)
			}
		}
	}
	if seen != len(all) {
		t.Fatalf("%d of %d leases are there", seen, len(all))
	}
}

func (p promise) check(t *testing.T, l move.Lease) {
	t.Helper()
	row := l.Row
	row.Ends = 0
	if diff := cmp.Diff(p.row, row); diff != "" {
		t.Fatalf("the lease on %s is another one (-given out +moved):\n%s", row.Resource, diff)
	}
	left := time.Until(p.ends)
	switch {
	case p.ends.IsZero() && l.Remaining != leasehold.Infinite, !p.ends.IsZero() && l.Remaining < left-slack:
		t.Fatalf("the lease on %s has %v left, want %v", row.Resource, l.Remaining, left)
	case !p.ends.IsZero() && l.Remaining > p.row.TTL:
		t.Fatalf("the lease on %s has %v left, more than it ever had", row.Resource, l.Remaining)
	}
}

// checkMoved says that one of the two has everything, and the other nothing.
func checkMoved(t *testing.T, from, to open.Movable, all lasting) {
	t.Helper()
	if mark, err := from.MoveMark(t.Context()); err != nil || mark.State != move.Moved {
		t.Fatalf("the source's mark is %+v, %v", mark, err)
	}
	if mark, err := to.MoveMark(t.Context()); err != nil || mark.State != move.Open {
		t.Fatalf("the target's mark is %+v, %v", mark, err)
	}
	if s, err := from.MoveSummary(t.Context()); err != nil || s.Live+s.Ended > 0 {
		t.Fatalf("the source still has leases: %+v, %v", s, err)
	}
	all.check(t, to)
	probe := leasehold.AcquireRequest{Resource: "probe", Holder: "probe", TTL: time.Minute}
	if _, err := from.Acquire(t.Context(), probe); err == nil {
		t.Fatal("the source grants")
	}
	g, err := to.Acquire(t.Context(), probe)
	if err != nil {
		t.Fatalf("the target does not grant: %v", err)
	}
	if _, err := to.Release(t.Context(), leasehold.ReleaseRequest{Resource: g.Resource, ID: g.ID}); err != nil {
		t.Fatal(err)
	}
}

// checkKilled says that after a kill one side has everything, and that the other grants
// nothing. It returns how far the mover came.
func checkKilled(t *testing.T, from, to open.Movable, all lasting) move.State {
	t.Helper()
	owner, other := from, to
	mark, err := from.MoveMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if mark.State == move.Left || mark.State == move.Moved {
		owner, other = to, from
	}
	reached := mark.State
	all.check(t, owner)
	probe := leasehold.AcquireRequest{Resource: "probe of a kill", Holder: "probe", TTL: time.Minute}
	if _, err := other.Acquire(t.Context(), probe); err == nil {
		t.Fatalf("both sides grant; the source's mark is %+v", mark)
	}
	// A mark that the mover has sent before its death may still arrive.
	for limit := time.Now().Add(time.Minute); mark.State == move.Open; time.Sleep(10 * time.Millisecond) {
		g, err := owner.Acquire(t.Context(), probe)
		if err == nil {
			if _, err := owner.Release(t.Context(), leasehold.ReleaseRequest{Resource: g.Resource, ID: g.ID}); err != nil {
				t.Fatal(err)
			}
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("an open store does not grant: %v", err)
		}
		if mark, err = owner.MoveMark(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return reached
}

func TestMoveUnderLoad(t *testing.T) {
	postgres := testserver.PostgresURL(testserver.Postgres(t).Addr, "postgres")
	t.Run("sqlite", func(t *testing.T) {
		file := open.SQLiteURL(filepath.Join(t.TempDir(), "leases.db")) + "?mode=shared"
		moveUnderLoad(t, [2]string{file, postgres + "&schema=with_sqlite"}, soak.Rounds(8, 20), soak.Rounds(600, 1500))
	})
	t.Run("etcd", func(t *testing.T) {
		moveUnderLoad(t, [2]string{"etcd://" + testserver.Etcd(t).Addr, postgres + "&schema=with_etcd"}, soak.Rounds(6, 15), soak.Rounds(300, 1000))
	})
}

// whenMarked returns a context that ends a while after the store has got a mark: what a
// mover does then may be too short to be met by chance.
func whenMarked(ctx context.Context, s move.Store, state move.State, after time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if mark, err := s.MoveMark(ctx); err == nil && mark.State == state {
				time.Sleep(after) // the mover goes on meanwhile
				cancel()
			}
		}
	}()
	return ctx, func() { cancel(); <-done }
}

// moveUnderLoad moves to and fro while clients in several processes use both stores,
// and kills the mover most of the time.
func moveUnderLoad(t *testing.T, urls [2]string, rounds, leases int) {
	m := mover{filepath.Join(t.TempDir(), "leasehold"), urls}
	if err := process.Build("github.com/leasehold/leasehold/cmd/leasehold", m.program); err != nil {
		t.Fatal(err)
	}
	stores := [2]open.Movable{openMovable(t, urls[0]), openMovable(t, urls[1])}
	all := acquireLasting(t, stores[0], leases)
	began := time.Now()
	if code, out := m.run(t.Context(), 0, 1); code != 0 {
		t.Fatalf("move = %d: %s", code, out)
	}
	undisturbed := time.Since(began)
	checkMoved(t, stores[0], stores[1], all)
	var stops []func() []event
	for i := range 4 {
		stops = append(stops, startClient(t, fmt.Sprintf("client-%d", i), urls))
	}
	killed := map[move.State]int{}
	late := func() int { return killed[move.Left] + killed[move.Moved] }
	enough := func() bool { return late() > 0 && killed[move.Leaving] > 0 }
	round := 0
	for ; round < rounds || !enough() && round < 5*rounds; round++ {
		from, to := (round+1)%2, round%2
		for try := 0; ; try++ {
			var ctx context.Context
			var cancel context.CancelFunc
			switch {
			case try < 3 && (round+try)%3 == 0:
				ctx, cancel = whenMarked(t.Context(), stores[from], move.Left, 0)
			case try < 3 && (round+try)%3 == 1:
				ctx, cancel = whenMarked(t.Context(), stores[from], move.Leaving, rand.N(undisturbed/2))
			case try < 3:
				ctx, cancel = context.WithTimeout(t.Context(), rand.N(2*undisturbed))
			default:
				ctx, cancel = context.WithCancel(t.Context())
			}
			code, out := m.run(ctx, from, to)
			cancel()
			if code == 0 {
				break
			}
			// On a busy machine a run may take longer than the source stays closed: it
			// moves nothing and says to run the command again, which this does.
			tooSlow := strings.Contains(out, "nothing was moved by this run") && try < 10
			if code > 0 && !tooSlow {
				t.Fatalf("round %d: move = %d: %s", round, code, out)
			}
			if code < 0 {
				killed[checkKilled(t, stores[from], stores[to], all)]++
			}
			time.Sleep(time.Duration(rand.IntN(3)*rand.IntN(1500)) * time.Millisecond) // the source may open by itself
		}
		checkMoved(t, stores[from], stores[to], all)
		time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond) // clients go on
	}
	var events []event
	for _, stop := range stops {
		events = append(events, stop()...)
	}
	checkEvents(t, events)
	if !enough() {
		t.Errorf("no mover was killed before the commit point, or none after it: %v", killed)
	}
	t.Logf("%d rounds; movers killed: %d before they closed the source, %d while it was closed, %d after the commit point; %d operations; undisturbed, a move of %d leases takes %v",
		round, killed[move.Open], killed[move.Leaving], late(), len(events), leases, undisturbed)
}
