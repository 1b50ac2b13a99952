package storetest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

// Capability names something that a store may lack. Its comment says what the
// suite expects of a store that has it.
type Capability string

// The capabilities that are interfaces.
const (
	Waiting       Capability = "waiting"        // leasehold.Waiter
	Breaking      Capability = "breaking"       // leasehold.Breaker
	Changing      Capability = "changing"       // leasehold.Changer
	Transfer      Capability = "transfer"       // leasehold.Transferer
	Finding       Capability = "finding"        // leasehold.Finder, and calls that leave the resource out
	Listing       Capability = "listing"        // leasehold.Lister
	ForceRelease  Capability = "force-release"  // leasehold.HolderReleaser
	ForceChildren Capability = "force-children" // leasehold.ChildReleaser
	History       Capability = "history"        // leasehold.Historian
	Settings      Capability = "settings"       // leasehold.Configurer
	Cleanup       Capability = "cleanup"        // leasehold.Cleaner
	Watching      Capability = "watching"       // leasehold.Watcher
	Waits         Capability = "waits"          // leasehold.WaitLister
)

// The capabilities that are behaviour.
const (
	// Priorities: the queue serves higher priorities first.
	Priorities Capability = "priorities"
	// KeptPlaces: the queue keeps the place of an absent waiter.
	KeptPlaces Capability = "kept-places"
	// ShownQueue: Status and ErrHeld show who waits and how many.
	ShownQueue Capability = "shown-queue"
	// CancelRecords: an abandoned wait is one record, cancelled.
	CancelRecords Capability = "cancel-records"
	// WaitTimes: Grant.Waited is known, never WaitUnknown.
	WaitTimes Capability = "wait-times"
	// MetadataFilter: List filters by metadata.
	MetadataFilter Capability = "metadata-filter"
	// Infinite: leases without an end.
	Infinite Capability = "infinite"
	// MaxRenewals: leases with a limit of renewals.
	MaxRenewals Capability = "max-renewals"
	// UniqueIDs: an id is unique in the store, not only on its resource.
	UniqueIDs Capability = "unique-ids"
	// Memory: the last lease of a resource is remembered after its end, so that
	// calls with its id say how it ended.
	Memory Capability = "memory"
	// ExpiryRecords: an expiry is written into the history.
	ExpiryRecords Capability = "expiry-records"
	// Downtime: time passes while the store is closed.
	Downtime Capability = "downtime"
	// HealthNames: leases on __healthcheck__… can be acquired here.
	HealthNames Capability = "health-names"
	// Sets: leases of AcquireRequest.Claims, and lists by namespace and path.
	Sets Capability = "sets"
	// Notes: a release or transfer leaves a note for the next holder.
	Notes Capability = "notes"
	// Deadlocks: AcquireRequest.Sequence is honoured. Without it such a request waits
	// like any other.
	Deadlocks Capability = "deadlocks"
)

// can reports whether the harness claims the capability. One that builds on
// another is lacking with it.
func (h Harness) can(c Capability) bool {
	if slices.Contains(h.Without, c) {
		return false
	}
	switch c {
	case Priorities, KeptPlaces, ShownQueue, WaitTimes, Deadlocks, Waits:
		return h.can(Waiting)
	case MetadataFilter:
		return h.can(Listing)
	case ExpiryRecords:
		return h.can(History)
	case CancelRecords:
		return h.can(History) && h.can(Waiting)
	}
	return true
}

var capabilityChecks = []check{
	{name: "AreAsClaimed", run: func(e *env) {
		for _, p := range probes {
			err := p.try(e)
			able := !errors.Is(err, leasehold.ErrUnsupported)
			switch {
			case able && !e.h.can(p.capability):
				e.Errorf("the store can do %q (probe: %v), but the harness says it cannot", p.capability, err)
			case !able && e.h.can(p.capability):
				e.Errorf("the store cannot do %q (probe: %v); list it in Harness.Without", p.capability, err)
			}
		}
	}},
	{name: "AreKnown", run: func(e *env) {
		for _, c := range e.h.Without {
			if !known[c] {
				e.Errorf("Harness.Without lists %q, which is no capability", c)
			}
		}
	}},
	{name: "SetsAreRefusedFirst", run: setsRefusedFirst, lacks: []Capability{Sets}},
	{name: "NotesAreRefusedFirst", run: notesRefusedFirst, lacks: []Capability{Notes}},
	{name: "SequencesJustWait", run: sequencesJustWait, needs: []Capability{Waiting}, lacks: []Capability{Deadlocks}},
}

// setsRefusedFirst expects a store that grants no sets to say so before anything
// happens: also of what is held, and with a wait.
func setsRefusedFirst(e *env) {
	e.untouched(func(leasehold.Grant) {
		for _, claims := range [][]leasehold.Claim{leasehold.Resources("free", "held"), leasehold.Paths("ns", "a/**"), {{Pattern: "free", Mode: leasehold.Shared}}} {
			r := leasehold.AcquireRequest{Claims: claims, Holder: "other", TTL: e.long, Timeout: time.Second}
			_, err := e.store.Acquire(e.Context(), r)
			e.reason("Acquire of a set", err, leasehold.ReasonUnsupported)
			if e.h.can(Waiting) {
				_, err := power[leasehold.Waiter](e).Wait(e.Context(), r)
				e.reason("Wait for a set", err, leasehold.ReasonUnsupported)
			}
		}
		if e.h.can(Listing) {
			for _, r := range []leasehold.ListRequest{{Namespace: "ns"}, {Namespace: "ns", Path: "a/**"}} {
				_, err := power[leasehold.Lister](e).List(e.Context(), r)
				e.reason("List by namespace", err, leasehold.ReasonUnsupported)
			}
		}
	})
}

// notesRefusedFirst expects the lease to be held on, with its holder.
func notesRefusedFirst(e *env) {
	e.untouched(func(g leasehold.Grant) {
		_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "held", Note: "n"})
		e.reason("Release with a note", err, leasehold.ReasonUnsupported)
		if e.h.can(Transfer) {
			_, err := e.transferErr(leasehold.TransferRequest{ID: g.ID, Resource: "held", To: "other", Note: "n"})
			e.reason("Transfer with a note", err, leasehold.ReasonUnsupported)
		}
	})
}

// sequencesJustWait expects Sequence to be no error.
func sequencesJustWait(e *env) {
	a, b := e.grant(sequence(e.request("a", "a"))), e.grant(sequence(e.request("b", "b")))
	first := e.wait(sequence(e.request("b", "a")))
	second := e.wait(sequence(e.request("a", "b")))
	first.still()
	second.still()
	e.release(a.Lease)
	second.granted()
	e.release(b.Lease)
	first.granted()
}

var known = map[Capability]bool{
	Waiting: true, Breaking: true, Changing: true, Transfer: true, Finding: true, Listing: true,
	ForceRelease: true, ForceChildren: true, History: true, Settings: true, Cleanup: true, Watching: true, Waits: true,
	Priorities: true, KeptPlaces: true, ShownQueue: true, WaitTimes: true, MetadataFilter: true,
	Infinite: true, MaxRenewals: true, UniqueIDs: true, Memory: true, ExpiryRecords: true, CancelRecords: true, Downtime: true, HealthNames: true,
	Sets: true, Notes: true, Deadlocks: true,
}

// missing is the answer of a power that the store does not have at all.
var missing = &leasehold.Error{Reason: leasehold.ReasonUnsupported, Problem: "no such method"}

// probe tries a capability. Only whether the answer is ErrUnsupported counts.
type probe struct {
	capability Capability
	try        func(e *env) error
}

var probes = []probe{
	{Waiting, func(e *env) error {
		return callPower(e, func(s leasehold.Waiter, ctx context.Context) error {
			_, err := s.Wait(ctx, e.request("probe-wait", "p"))
			return err
		})
	}},
	{Breaking, func(e *env) error {
		return callPower(e, func(s leasehold.Breaker, ctx context.Context) error {
			_, err := s.Break(ctx, leasehold.BreakRequest{Resource: "probe-break"})
			return err
		})
	}},
	{Changing, func(e *env) error {
		return callPower(e, func(s leasehold.Changer, ctx context.Context) error {
			_, err := s.Change(ctx, leasehold.ChangeRequest{ID: e.id(), Resource: "probe-change", Proposed: e.id()})
			return err
		})
	}},
	{Transfer, func(e *env) error {
		return callPower(e, func(s leasehold.Transferer, ctx context.Context) error {
			_, err := s.Transfer(ctx, leasehold.TransferRequest{ID: e.id(), Resource: "probe-transfer", To: "q"})
			return err
		})
	}},
	{Finding, func(e *env) error {
		return callPower(e, func(s leasehold.Finder, ctx context.Context) error {
			_, err := s.Find(ctx, e.id())
			return err
		})
	}},
	{Listing, func(e *env) error {
		return callPower(e, func(s leasehold.Lister, ctx context.Context) error {
			_, err := s.List(ctx, leasehold.ListRequest{})
			return err
		})
	}},
	{ForceRelease, func(e *env) error {
		return callPower(e, func(s leasehold.HolderReleaser, ctx context.Context) error {
			_, err := s.ReleaseHolder(ctx, "probe-nobody", "")
			return err
		})
	}},
	{ForceChildren, func(e *env) error {
		return callPower(e, func(s leasehold.ChildReleaser, ctx context.Context) error {
			_, err := s.ReleaseWithChildren(ctx, "probe-nobody", "")
			return err
		})
	}},
	{History, func(e *env) error {
		return callPower(e, func(s leasehold.Historian, ctx context.Context) error {
			_, err := s.History(ctx, leasehold.HistoryRequest{})
			return err
		})
	}},
	{Settings, func(e *env) error {
		return callPower(e, func(s leasehold.Configurer, ctx context.Context) error {
			_, err := s.Settings(ctx)
			return err
		})
	}},
	{Cleanup, func(e *env) error {
		return callPower(e, func(s leasehold.Cleaner, ctx context.Context) error {
			_, err := s.Cleanup(ctx)
			return err
		})
	}},
	{Watching, func(e *env) error {
		return callPower(e, func(s leasehold.Watcher, ctx context.Context) error {
			// A watch from too far ahead is told so at once, and ends.
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
			defer cancel()
			seen := errors.New("seen")
			return s.Watch(ctx, leasehold.WatchRequest{After: 1 << 40}, func(leasehold.Notice) error { return seen })
		})
	}},
	{Waits, func(e *env) error {
		return callPower(e, func(s leasehold.WaitLister, ctx context.Context) error {
			_, err := s.Waits(ctx, 0)
			return err
		})
	}},
	{Infinite, func(e *env) error {
		r := e.request("probe-infinite", "p")
		r.TTL = leasehold.Infinite
		return e.attempt(r)
	}},
	{MaxRenewals, func(e *env) error {
		r := e.request("probe-limit", "p")
		r.MaxRenewals = new(int)
		return e.attempt(r)
	}},
	{Sets, func(e *env) error { return e.attempt(e.names("p", "probe-set", "probe-set-too")) }},
	{Notes, func(e *env) error {
		g := e.acquire("probe-note", "p")
		_, err := e.store.Release(e.Context(), leasehold.ReleaseRequest{ID: g.ID, Resource: "probe-note", Note: "n"})
		if err != nil {
			e.release(g.Lease)
		}
		return err
	}},
	{Deadlocks, func(e *env) error {
		return callPower(e, func(s leasehold.Waiter, ctx context.Context) error {
			r := sequence(e.request("probe-deadlock", "p"))
			defer e.release(e.grant(r).Lease)
			r.Timeout = time.Second
			_, err := s.Wait(ctx, r)
			if leasehold.ReasonOf(err) != leasehold.ReasonDeadlock {
				return missing
			}
			return err
		})
	}},
}

// callPower calls a power, or returns missing.
func callPower[P any](e *env, call func(P, context.Context) error) error {
	p, ok := e.store.(P)
	if !ok {
		return missing
	}
	return call(p, e.Context())
}

// attempt acquires and releases.
func (e *env) attempt(r leasehold.AcquireRequest) error {
	g, err := e.store.Acquire(e.Context(), r)
	if err == nil {
		e.release(g.Lease)
	}
	return err
}
