package machine_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// waitGraph says whom each holder waits for.
type waitGraph map[string][]leasehold.WaitEdge

func (g waitGraph) add(holder, heldBy, name string) {
	g[holder] = append(g[holder], leasehold.WaitEdge{Holder: holder, Claim: leasehold.Claim{Pattern: name}, HeldBy: heldBy})
}

// shortest is the length of the shortest way back to a holder, found by trying every
// way; zero if there is none.
func (g waitGraph) shortest(from, at string, passed map[string]bool) int {
	best := 0
	for _, edge := range g[at] {
		n := 1
		if edge.HeldBy != from {
			if passed[edge.HeldBy] {
				continue
			}
			passed[edge.HeldBy] = true
			n += g.shortest(from, edge.HeldBy, passed)
			delete(passed, edge.HeldBy)
			if n == 1 {
				continue
			}
		}
		if best == 0 || n < best {
			best = n
		}
	}
	return best
}

// TestCycle compares with a search of all ways: the cycle is one of edges that exist,
// none is shorter, none is missed and none invented.
func TestCycle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		holders := rapid.IntRange(1, 7).Draw(rt, "holders")
		holder := rapid.IntRange(0, holders-1)
		for range 20 {
			g := waitGraph{}
			for i := range rapid.IntRange(0, 2*holders).Draw(rt, "edges") {
				g.add(fmt.Sprint(holder.Draw(rt, "from")), fmt.Sprint(holder.Draw(rt, "to")), fmt.Sprint("name ", i))
			}
			for i := range holders {
				verifyCycle(rt, g, fmt.Sprint(i))
			}
		}
	})
}

func verifyCycle(t rapid.TB, g waitGraph, from string) {
	t.Helper()
	requested := map[string]int{}
	got := machine.Cycle(from, func(holder string) []leasehold.WaitEdge {
		requested[holder]++
		return g[holder]
	})
	if n := g.shortest(from, from, map[string]bool{}); len(got) != n {
		t.Fatalf("Cycle(%s) in %v = %v, want %d edges", from, g, got, n)
	}
	for holder, n := range requested {
		if n > 1 {
			t.Fatalf("Cycle(%s) in %v asks %d times for whom %s waits", from, g, n, holder)
		}
	}
	at := from
	for _, edge := range got {
		if edge.Holder != at || !has(g[at], edge) {
			t.Fatalf("Cycle(%s) in %v = %v, in which %v does not follow from %s", from, g, got, edge, at)
		}
		at = edge.HeldBy
	}
	if at != from {
		t.Fatalf("Cycle(%s) in %v = %v, which ends at %s", from, g, got, at)
	}
}

func has(edges []leasehold.WaitEdge, want leasehold.WaitEdge) bool {
	for _, e := range edges {
		if e == want {
			return true
		}
	}
	return false
}

func TestCycleExamples(t *testing.T) {
	g := waitGraph{}
	g.add("ann", "bob", "x")
	g.add("bob", "cyd", "y")
	g.add("cyd", "dan", "z") // and dan waits for nobody
	g.add("eve", "eve", "own")
	g.add("fay", "ann", "x")
	for holder, want := range map[string]int{"ann": 0, "dan": 0, "eve": 1, "fay": 0} {
		if got := machine.Cycle(holder, func(h string) []leasehold.WaitEdge { return g[h] }); len(got) != want {
			t.Errorf("Cycle(%q) = %v, want %d edges", holder, got, want)
		}
	}
	g.add("cyd", "ann", "w")
	got := machine.Cycle("ann", func(h string) []leasehold.WaitEdge { return g[h] })
	if fmt.Sprint(got) != "[{ann x bob} {bob y cyd} {cyd w ann}]" {
		t.Errorf("Cycle(ann) = %v, want ann, bob, cyd and back", got)
	}
	if got := machine.Cycle("fay", func(h string) []leasehold.WaitEdge { return g[h] }); got != nil {
		t.Errorf("Cycle(fay) = %v, want none: fay waits for a cycle and is not in it", got)
	}
}
