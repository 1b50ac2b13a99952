package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/leasehold/leasehold"
)

// ReadHistory returns the whole history of a store, oldest record first.
func ReadHistory(t testing.TB, store leasehold.Store) []leasehold.Record {
	t.Helper()
	return readHistory(t, store, leasehold.HistoryRequest{Limit: leasehold.MaxPage})
}

// readHistory follows the cursors to the end.
func readHistory(t testing.TB, store leasehold.Store, r leasehold.HistoryRequest) []leasehold.Record {
	t.Helper()
	h, ok := store.(leasehold.Historian)
	if !ok {
		t.Fatalf("%T keeps no history", store)
	}
	var all []leasehold.Record
	for {
		page, err := h.History(t.Context(), r)
		if err != nil {
			t.Fatalf("History(%+v) = %v, want a page", r, err)
		}
		all = append(all, page.Records...)
		if page.Cursor == "" {
			slices.Reverse(all)
			return all
		}
		if len(page.Records) == 0 {
			t.Fatalf("History(%+v) = an empty page with a cursor", r)
		}
		r.Cursor = page.Cursor
	}
}

// CheckRecords expects a whole history, oldest record first, to be without
// gaps and without orphans: numbers follow each other, each step starts in the
// state where the one before it left the resource, and tokens only grow. Names
// of resources whose past was purged or not recorded must not be among them.
func CheckRecords(t testing.TB, records []leasehold.Record) {
	t.Helper()
	checkNumbers(t, records)
	rows := map[string]leasehold.Record{}
	for _, r := range records {
		if !steps[r.Kind] {
			continue
		}
		if problem := follows(rows[r.Resource], r); problem != "" {
			t.Errorf("history record %d: %s of %q by %q, %s", r.Seq, r.Kind, r.Resource, r.Holder, problem)
		}
		rows[r.Resource] = r
	}
}

// checkNumbers expects numbers without gaps.
func checkNumbers(t testing.TB, records []leasehold.Record) {
	t.Helper()
	for i := 1; i < len(records); i++ {
		if got, want := records[i].Seq, records[i-1].Seq+1; got != want {
			t.Errorf("history record %d follows %d", got, want-1)
		}
	}
}

// steps are the kinds of records of a lease. The others are of a request or of
// the store.
var steps = map[leasehold.Kind]bool{
	leasehold.KindAcquired: true, leasehold.KindRenewed: true, leasehold.KindReleased: true,
	leasehold.KindExpired: true, leasehold.KindBreaking: true, leasehold.KindBroken: true,
	leasehold.KindChanged: true, leasehold.KindTransferred: true, leasehold.KindForceReleased: true,
}

// follows returns what is wrong with a step after the one before it on the same
// resource; the zero Record: there is none.
func follows(before, r leasehold.Record) string {
	forgotten := r.Before == leasehold.StateAvailable && !before.After.Locked()
	if r.Before != before.After && !forgotten {
		return fmt.Sprintf("starts %v, but record %d left it %v", r.Before, before.Seq, before.After)
	}
	if upgrades(r) && r.Kind == leasehold.KindAcquired && r.Before == leasehold.StateActive && r.After == leasehold.StateActive {
		return followsUpgrade(before, r)
	}
	if !allowed[r.Kind][r.Before][r.After] {
		return fmt.Sprintf("leads from %v to %v", r.Before, r.After)
	}
	grants := r.Kind == leasehold.KindAcquired || r.Kind == leasehold.KindTransferred
	switch {
	case grants && r.Token <= before.Token:
		return fmt.Sprintf("token %d after %d", r.Token, before.Token)
	case !grants && (r.Token != before.Token || r.Holder != before.Holder):
		return fmt.Sprintf("token %d, but record %d is of %q with token %d", r.Token, before.Seq, before.Holder, before.Token)
	case r.Kind == leasehold.KindAcquired && r.Renewals != 0:
		return fmt.Sprintf("%d renewals at the start", r.Renewals)
	case r.Kind == leasehold.KindRenewed && r.Renewals <= before.Renewals:
		return fmt.Sprintf("%d renewals after %d", r.Renewals, before.Renewals)
	case r.Kind != leasehold.KindAcquired && r.Kind != leasehold.KindRenewed && r.Renewals != before.Renewals:
		return fmt.Sprintf("%d renewals after %d", r.Renewals, before.Renewals)
	}
	return ""
}

// upgrades reports whether the record is of a set that has changed its modes.
func upgrades(r leasehold.Record) bool { return r.Details["replaces_token"] != "" }

// followsUpgrade is follows for a grant that continues a live lease.
func followsUpgrade(before, r leasehold.Record) string {
	switch {
	case r.Holder != before.Holder || r.Details["replaces_token"] != fmt.Sprint(before.Token):
		return fmt.Sprintf("replaces token %s, but record %d is of %q with token %d", r.Details["replaces_token"], before.Seq, before.Holder, before.Token)
	case r.Token <= before.Token:
		return fmt.Sprintf("token %d after %d", r.Token, before.Token)
	case r.Renewals != before.Renewals+1:
		return fmt.Sprintf("%d renewals after %d", r.Renewals, before.Renewals)
	}
	return ""
}

type (
	states map[leasehold.State]bool
	moves  map[leasehold.State]states
)

// allowed are the moves that each kind may record.
var allowed = func() map[leasehold.Kind]moves {
	active, breaking := leasehold.StateActive, leasehold.StateBreaking
	released, broken := leasehold.StateReleased, leasehold.StateBroken
	toReleased := moves{active: {released: true}, breaking: {released: true}}
	toActive := moves{}
	for _, s := range []leasehold.State{leasehold.StateAvailable, released, leasehold.StateExpired, broken} {
		toActive[s] = states{active: true}
	}
	return map[leasehold.Kind]moves{
		leasehold.KindAcquired:      toActive,
		leasehold.KindRenewed:       {active: {active: true}},
		leasehold.KindChanged:       {active: {active: true}},
		leasehold.KindTransferred:   {active: {active: true}},
		leasehold.KindReleased:      toReleased,
		leasehold.KindForceReleased: toReleased,
		leasehold.KindExpired:       {active: {leasehold.StateExpired: true}},
		leasehold.KindBreaking:      {active: {breaking: true}, breaking: {breaking: true}},
		leasehold.KindBroken:        {active: {broken: true}, breaking: {broken: true}},
	}
}()

// audit ends every check: the history has a record of everything, and no id.
func (e *env) audit() {
	e.Helper()
	if e.closed || e.Failed() || !e.h.can(History) {
		return
	}
	e.waitIdle()
	records := ReadHistory(e.TB, e.store)
	for _, r := range records {
		e.secret(fmt.Sprintf("history record %d", r.Seq), fmt.Sprintf("%+v", r))
		if r.At.IsZero() {
			e.Errorf("history record %d has no time", r.Seq)
		}
	}
	if e.gaps || !e.h.can(ExpiryRecords) {
		return
	}
	CheckRecords(e.TB, records)
	e.agrees(records)
}

// agrees expects the last record of each resource to say what Status says.
func (e *env) agrees(records []leasehold.Record) {
	e.Helper()
	last := map[string]leasehold.Record{}
	for _, r := range records {
		if steps[r.Kind] {
			last[r.Resource] = r
		}
	}
	for resource, r := range last {
		s := e.status(resource)
		if s.Locked() && s.Lease.Resource == resource && (s.Lease.Token != r.Token || s.Lease.Holder != r.Holder || s.Lease.State != r.After) {
			e.Errorf("Status(%q) = %s, but the last record %d is %s with token %d", resource, describeStatus(s), r.Seq, r.Kind, r.Token)
		}
	}
}
