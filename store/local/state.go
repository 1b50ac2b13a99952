package local

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/btree"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/internal/settings"
	"github.com/leasehold/leasehold/store/local/internal/claims"
	"github.com/leasehold/leasehold/store/local/internal/heap"
)

// state is everything that the engine's lock guards. Its methods expect the
// lock to be held, and never block.
type state struct {
	// These and the channels never change, so they are read without the lock.
	kind       string      // names the store in errors
	lowOnSpace func() bool // the journal's

	table   *table
	config  *settings.Values
	clock   clock
	batches batches
	token   uint64  // the last one granted
	seq     uint64  // the last record's
	purged  uint64  // records up to this one are purged
	kept    int64   // how many records are not
	totals  Figures // what of them counts since Open

	queues      map[string]*queue           // of plain names
	sets        *queue                      // of all others
	reserving   claims.Index[*position]     // those present in sets, by what they claim
	lapses      heap.Heap[*position]        // those that reserve it, by the end of that
	sequences   map[string]map[*waiter]bool // present with Sequence, by holder
	present     *btree.BTreeG[*position]    // in all of them, by order
	details     detailCache                 // of records
	lastOrder   uint64                      // of the newest position
	reserved    []reservation               // by end
	interrupted []interruptedWait           // by time

	down   error // why nothing can be decided, or nil
	closed bool

	saved     machine.Time // the clock in the last commit
	nextWake  machine.Time // when the timer fires
	lastPurge uint64       // seq of the record of the last purge
	purging   *batch       // of the last purge; nil: there was none
	expiring  bool         // leases past their end are expiring to make room for one
	lowLimit  int64        // of history records while space is low; 0: it is not

	// What came up while the engine was down; recovery makes it good.
	unrecorded []leasehold.Record
	unclaimed  []machine.Row // to be released

	rearm    chan struct{} // the timer must fire sooner
	sweepNow chan struct{}
}

func newState(kind string, journal Journal, l loaded) state {
	s := state{
		kind:       kind,
		lowOnSpace: func() bool { return false },
		clock:      startClock(l.Counters),
		batches:    newBatches(l.Commit + 1),
		token:      l.Token,
		queues:     map[string]*queue{},
		sequences:  map[string]map[*waiter]bool{},
		present:    btree.NewG(btreeDegree, earlier),
		details:    detailCache{},
		lapses: heap.Heap[*position]{
			Less:  func(a, b *position) bool { return a.reserves < b.reserves },
			Moved: func(p *position, at int) { p.lapse = int32(at) },
		},
		rearm:    make(chan struct{}, 1),
		sweepNow: make(chan struct{}, 1),
	}
	if j, ok := journal.(Spacer); ok {
		s.lowOnSpace = j.LowOnSpace
	}
	s.adopt(l)
	if s.table.due.Len() > 0 && !s.clock.reading.sameBoot(l.Reading) {
		s.batches.touch() // or a crash before the first save would lose the time until then
	}
	return s
}

// adopt makes what was loaded the engine's memory. The token counter is not
// part of it: it never goes back.
func (s *state) adopt(l loaded) {
	s.table = l.table
	s.config = l.config
	s.seq = l.Seq
	s.purged = l.Purged
	s.kept = l.Kept
	s.saved = l.Clock
	s.nextWake = 0
}

// ready returns why nothing can be decided, or nil.
func (s *state) ready() error {
	switch {
	case s.closed:
		return unavailable(errClosed)
	case s.down != nil:
		return unavailable(s.down)
	case s.token >= leasehold.MaxToken-1:
		return unavailable(errors.New("the token counter has reached its end at 2^53"))
	}
	return nil
}

// tryAcquire runs the rule on a request that is filled in. Rank is its position; nil:
// it has none yet.
func (s *state) tryAcquire(now machine.Instant, r leasehold.AcquireRequest, id leasehold.ID, rank *position) machine.Outcome {
	if rank == nil && s.present.Len() > 0 {
		s.serveBefore(now, r)
	}
	fresh := s.fresh(id)
	s.checkLimits(now, r.Resource, r.Caller, &fresh)
	if !s.plainOnly(&r) {
		if rank == nil {
			rank = s.newRank(r)
		}
		return s.tryAmongSets(now, r, fresh, rank)
	}
	conflicts := []machine.Row{s.table.row(r.Resource)}
	return machine.Acquire(now, r, fresh, conflicts, s.table.known(r.ID), machine.Standard)
}

// serveBefore gives what has ended, and what is no longer kept free, to who waits for it
// before a request that is here sooner than the timer.
func (s *state) serveBefore(now machine.Instant, r leasehold.AcquireRequest) {
	var ended machine.Outcome
	if s.table.due.Len() > 0 && s.table.due.First().row.Ends <= now.Clock {
		r.Claims = slices.Clone(r.Claims)
		for i := range r.Claims {
			r.Claims[i].Mode = leasehold.Exclusive // who waits for a reader's end may exclude this reader
		}
		s.overlapping(r, func(ent *entry, _ leasehold.Claim) bool {
			if ent.due >= 0 && ent.row.Ends <= now.Clock {
				s.table.lapse(ent)
				ended.Steps = append(ended.Steps, machine.Expire(now, ent.row).Steps...)
			}
			return true
		})
	}
	s.apply(now, ended)
}

func (s *state) fresh(id leasehold.ID) machine.Fresh {
	return machine.Fresh{Token: s.token + 1, ID: id}
}

// checkLimits says in fresh whether there is room for one more live lease. At
// the limit, leases past their end expire first: they do not count, even if
// their end is not written yet. Health checks are not limited.
func (s *state) checkLimits(now machine.Instant, resource, caller string, fresh *machine.Fresh) {
	if strings.HasPrefix(resource, leasehold.HealthPrefix) {
		return
	}
	if s.atLimit(caller, fresh) && !s.expiring {
		s.expiring = true // what expires may be granted to a waiter, which comes here again
		s.expire(now)
		s.expiring = false
		*fresh = s.fresh(fresh.ID) // a waiter may have got the token
		s.atLimit(caller, fresh)
	}
}

func (s *state) atLimit(caller string, fresh *machine.Fresh) bool {
	switch all, each := s.config.MaxLeases, s.config.MaxLeasesCaller; {
	case all != leasehold.Unlimited && int64(s.table.live) >= all:
		fresh.Full, fresh.FullAt = leasehold.SettingMaxLeases, all
	case each != leasehold.Unlimited && caller != "" && int64(s.table.callers[caller]) >= each:
		fresh.Full, fresh.FullAt = leasehold.SettingMaxLeasesCaller, each
	}
	return fresh.Full != ""
}

// byID returns the row known by the id, or one that no id matches. A resource
// that was sent must be the row's.
func (s *state) byID(id leasehold.ID, resource string) machine.Row {
	row := s.table.known(id)
	if row == nil || resource != "" && row.Resource != resource {
		return machine.Row{Resource: resource}
	}
	return *row
}

// apply carries the outcome out and grants what it freed to waiters. It returns
// the batch that the answer must wait for, or nil.
func (s *state) apply(now machine.Instant, out machine.Outcome) *batch {
	if len(out.Steps) > 0 {
		s.batches.pending.decided++
	}
	freed := s.lapsed(now)     // of sets, and for them
	for i := range out.Steps { // by pointer: a step is long
		freed = s.freed(&out.Steps[i], freed)
		s.applyStep(now, &out.Steps[i])
	}
	if out.Granted {
		s.token = out.Row.Token
		s.dropPosition(now, out.Row)
	}
	for i := range out.Steps {
		freed = s.refuseFormer(now, &out.Steps[i].Row, freed)
	}
	if out.Granted && len(s.sequences) > 0 {
		s.refuseCycles(now, out.Row.Holder)
	}
	if len(freed) > 0 {
		s.serveSets(now, freed)
	}
	for i := range out.Steps {
		if row := &out.Steps[i].Row; !row.State.Locked() {
			s.grantToWaiters(now, row.Resource)
		}
	}
	if out.Row.Resource == "" || out.Overlap != nil || dependsOnMore(out.Reason) {
		return s.batches.latest()
	}
	return s.seen(out.Row.Resource)
}

// dependsOnMore says whether a refusal may depend on more than the resource's
// own row: on another row with the id, on the absence of any, on other waiters, or on a
// setting.
func dependsOnMore(r leasehold.Reason) bool {
	switch r {
	case leasehold.ReasonNotFound, leasehold.ReasonIDInUse, leasehold.ReasonBlockingDisabled, leasehold.ReasonDeadlock,
		leasehold.ReasonReleased, leasehold.ReasonExpired, leasehold.ReasonBroken:
		return true
	}
	return false
}

func (s *state) applyStep(now machine.Instant, step *machine.Step) {
	if step.Row.State == leasehold.StateAvailable {
		if ent := s.table.rows[step.Row.Resource]; ent != nil {
			s.forget(ent)
		}
	} else {
		ent := s.table.put(step.Row)
		s.batches.save(ent)
		s.wakeForEnd(ent.row)
		if !step.Row.State.Locked() {
			s.forgetSurplus(now)
		}
	}
	if step.Kind != "" {
		s.record(leasehold.Record{
			At:       now.WallTime(),
			Kind:     step.Kind,
			Resource: step.Row.Resource,
			Holder:   step.Row.Holder,
			Token:    step.Row.Token,
			Before:   step.Before,
			After:    step.Row.State,
			Renewals: int(step.Row.Renewals),
			Why:      step.Why,
			Details:  s.details.of(now, step),
		})
	}
}

// forget drops the entry, in memory and on disk.
func (s *state) forget(ent *entry) {
	s.batches.remove(ent)
	s.table.drop(ent)
}

// seen returns the batch that an answer about the resource must wait for, or
// nil.
func (s *state) seen(resource string) *batch {
	return s.batches.seen(resource, s.table.rows[resource])
}

// record numbers the record, and keeps it if the settings say so.
func (s *state) record(r leasehold.Record) {
	if strings.HasPrefix(r.Resource, leasehold.HealthPrefix) {
		return
	}
	if s.down != nil {
		s.unrecorded = append(s.unrecorded, r)
		return
	}
	s.seq++
	r.Seq = s.seq
	pending := s.batches.pending
	pending.events = append(pending.events, r)
	if s.config.Keeps(r.Kind) {
		pending.Records = append(pending.Records, r)
		s.kept++
	}
	s.batches.touch()
	if limit := s.historyLimit(); s.kept > limit+limit/10+minSurplus {
		signal(s.sweepNow)
	}
}

// minSurplus records beyond the limit are too few to purge at once.
const minSurplus = 1000

// historyLimit is how many records are kept. While space is low it is nine
// tenths of those there were when it became so: new records replace the oldest.
func (s *state) historyLimit() int64 {
	if !s.lowOnSpace() {
		s.lowLimit = 0
		return s.config.HistoryMaxRows
	}
	if s.lowLimit == 0 {
		s.lowLimit = max(minSurplus, s.kept*9/10)
	}
	return min(s.lowLimit, s.config.HistoryMaxRows)
}

// refusal turns the outcome's reason into an error that names the holder.
func (s *state) refusal(op string, now machine.Instant, out machine.Outcome) error {
	if out.Reason == "" {
		return nil
	}
	err := &leasehold.Error{
		Reason: out.Reason, Op: op, Resource: out.Row.Resource, Store: s.kind,
		Field: out.Field, Problem: out.Problem, Overlap: out.Overlap, Reserved: out.Reserved, Cycle: out.Cycle,
	}
	switch out.Reason {
	case leasehold.ReasonHeld, leasehold.ReasonBreaking:
		err.Waiting = s.waiting(out.Row)
		row := out.Row
		if out.Blocker != nil {
			row = *out.Blocker
		}
		if !row.State.Locked() {
			break // the reservation's waiter waits for no lease
		}
		current := row.Lease(now)
		err.Current = &current
		if out.Reason == leasehold.ReasonBreaking {
			err.Remaining = current.Remaining
		}
		err.RetryAfter = max(0, current.Remaining)
	case leasehold.ReasonTooMany:
		if s.table.due.Len() > 0 {
			err.RetryAfter = max(0, time.Duration(s.table.due.First().row.Ends-now.Clock))
		}
	}
	return err
}

// releaseUnclaimed releases a lease that was granted to a caller who has left,
// if it is still held. While the engine is down that is put off: whether the
// grant is durable is not known.
func (s *state) releaseUnclaimed(now machine.Instant, row machine.Row) {
	if s.down != nil {
		s.unclaimed = append(s.unclaimed, row)
		return
	}
	r := leasehold.ReleaseRequest{ID: row.ID, Why: leasehold.WhyAbandoned}
	s.apply(now, machine.Release(now, r, s.byID(row.ID, ""), machine.Standard))
}
