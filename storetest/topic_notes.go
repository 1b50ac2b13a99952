package storetest

import (
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

var noteChecks = []check{
	{name: "ToTheNextHolder", run: noteToNext, needs: []Capability{Notes}},
	{name: "ToAWaiter", run: noteToWaiter, needs: []Capability{Notes, Waiting}},
	{name: "OfATransfer", run: noteOfTransfer, needs: []Capability{Notes, Transfer}},
	{name: "OfASetAreShownOnce", run: noteOfSet, needs: []Capability{Notes, Sets}},
	{name: "BetweenNamesAndSets", run: noteBetween, needs: []Capability{Notes, Sets}},
	{name: "OfSeveral", run: notesOfSeveral, needs: []Capability{Notes, Sets}},
	{name: "OfASetTransferred", run: noteOfSetTransfer, needs: []Capability{Notes, Sets, Transfer}},
	{name: "NoneOfWhatEndedOtherwise", run: noteNone, needs: []Capability{Notes}},
	{name: "AtTheLimit", run: noteAtLimit, needs: []Capability{Notes}},
}

// releaseNoting releases with a note.
func (e *env) releaseNoting(l leasehold.Lease, text string) {
	e.Helper()
	if _, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: l.ID, Resource: l.Resource, Note: text}); err != nil {
		e.Fatalf("Release(%q) with a note = %v, want success", l.Resource, err)
	}
}

// noted expects a lease to carry these notes. It is of an answer to the holder: others
// need not see them.
func (e *env) noted(l leasehold.Lease, want ...leasehold.Note) {
	e.Helper()
	if !slices.Equal(l.Notes, want) {
		e.Errorf("the lease %q of %q carries the notes %v, want %v", l.Resource, l.Holder, l.Notes, want)
	}
}

func noteToNext(e *env) {
	e.releaseNoting(e.acquire("r", "first").Lease, "stopped at line 40\n🔑")
	e.noted(e.acquire("other", "second").Lease)
	r := e.request("r", "second")
	g := e.grant(r)
	want := leasehold.Note{From: "first", Text: "stopped at line 40\n🔑"}
	e.noted(g.Lease, want)
	e.noted(e.again(r, g).Lease, want) // as after a lost answer
	e.noted(e.renew(g.Lease), want)
	e.release(g.Lease)
	e.noted(e.acquire("r", "third").Lease)
}

func noteToWaiter(e *env) {
	g := e.acquire("r", "first")
	w, next := e.wait(e.request("r", "second")), e.wait(e.request("r", "third"))
	e.releaseNoting(g.Lease, "n")
	second := w.granted()
	e.noted(second.Lease, leasehold.Note{From: "first", Text: "n"})
	e.release(second.Lease)
	e.noted(next.granted().Lease)
}

func noteOfTransfer(e *env) {
	e.releaseNoting(e.acquire("r", "first").Lease, "to the second")
	g := e.acquire("r", "second")
	r := leasehold.TransferRequest{ID: g.ID, Resource: "r", To: "third", Proposed: e.id(), Note: "to the third"}
	for range 2 { // the second time as after a lost answer
		if _, err := e.transferErr(r); err != nil {
			e.Fatalf("Transfer with a note = %v, want success", err)
		}
	}
	l := *e.status("r").Lease
	l.ID = r.Proposed
	e.noted(e.renew(l), leasehold.Note{From: "second", Text: "to the third"})
	e.release(l)
	e.noted(e.acquire("r", "fourth").Lease)
}

func noteOfSet(e *env) {
	e.releaseNoting(e.grant(e.claims("first", leasehold.Paths("ns", "src/**", "go.mod")...)).Lease, "n")
	want := leasehold.Note{From: "first", Text: "n"}
	e.noted(e.grant(e.claims("apart", leasehold.Paths("ns", "docs/**")...)).Lease)
	e.noted(e.grant(e.claims("elsewhere", leasehold.Paths("other", "src/**")...)).Lease)
	g := e.grant(e.claims("second", shared(leasehold.Paths("ns", "src/a"))...)) // in any mode
	e.noted(g.Lease, want)
	e.noted(e.renew(g.Lease), want)
	e.noted(e.grant(e.claims("third", shared(leasehold.Paths("ns", "src/a"))...)).Lease)
	e.noted(e.grant(e.claims("fourth", leasehold.Paths("ns", "go.mod")...)).Lease) // though nobody had it since
}

func noteBetween(e *env) {
	e.releaseNoting(e.grant(e.names("first", "a", "b")).Lease, "of a set")
	plain := e.acquire("b", "second")
	e.noted(plain.Lease, leasehold.Note{From: "first", Text: "of a set"})
	e.noted(e.acquire("a", "third").Lease)
	e.releaseNoting(plain.Lease, "of a name")
	set := e.grant(e.names("fourth", "c", "b"))
	e.noted(set.Lease, leasehold.Note{From: "second", Text: "of a name"})
	e.release(set.Lease)
	e.noted(e.acquire("b", "fifth").Lease)
}

func notesOfSeveral(e *env) {
	a, b := e.grant(e.names("first", "a")), e.grant(e.names("second", "b"))
	e.refused(e.names("third", "a", "b"), leasehold.ReasonHeld)
	e.releaseNoting(a.Lease, "one")
	e.refused(e.names("third", "a", "b"), leasehold.ReasonHeld) // reads nothing
	e.releaseNoting(b.Lease, "two")
	g := e.grant(e.names("third", "a", "b"))
	got := slices.Clone(g.Notes)
	slices.SortFunc(got, func(x, y leasehold.Note) int { return len(x.From) - len(y.From) })
	want := []leasehold.Note{{From: "first", Text: "one"}, {From: "second", Text: "two"}}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("the notes of two leases differ (-want +got):\n%s", diff)
	}
	e.release(g.Lease)
	e.noted(e.grant(e.names("fourth", "a", "b")).Lease)
}

func noteOfSetTransfer(e *env) {
	g := e.grant(e.mixture("first"))
	l, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: g.Resource, To: "second", Note: "n"})
	if err != nil {
		e.Fatalf("Transfer of a set with a note = %v, want success", err)
	}
	e.noted(l, leasehold.Note{From: "first", Text: "n"})
	e.stillCovers(l)
	e.release(l)
	e.noted(e.grant(e.mixture("third")).Lease)
}

// noteNone ends a lease that has a note in every way that leaves none itself.
func noteNone(e *env) {
	ends := map[string]func(leasehold.Lease){
		"release": func(l leasehold.Lease) { e.release(l) },
		"expiry":  func(leasehold.Lease) { e.outlive(e.short) },
	}
	if e.h.can(Breaking) {
		ends["break"] = func(l leasehold.Lease) { e.breakIn(l.Resource, 0) }
	}
	if e.h.can(ForceRelease) {
		ends["force-release"] = func(l leasehold.Lease) { e.force(l.Holder, "", 1) }
	}
	for how, end := range ends {
		e.releaseNoting(e.acquire("r", "first").Lease, how)
		g := e.grant(e.soon(e.request("r", "second")))
		e.noted(g.Lease, leasehold.Note{From: "first", Text: how})
		end(g.Lease)
		g = e.acquire("r", "third")
		e.noted(g.Lease)
		e.release(g.Lease)
	}
}

func noteAtLimit(e *env) {
	text := longText(leasehold.MaxNote)
	e.releaseNoting(e.acquire("r", "first").Lease, text)
	e.noted(e.acquire("r", "second").Lease, leasehold.Note{From: "first", Text: text})
}
