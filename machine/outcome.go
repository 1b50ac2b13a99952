package machine

import (
	"strconv"

	"github.com/leasehold/leasehold"
)

// Fresh is what a new grant would get: the store's next token, and an id in
// case none was proposed. A store counts the token as used iff Outcome.Granted.
type Fresh struct {
	Token uint64
	ID    leasehold.ID

	// Full names the setting that allows no more live leases, and FullAt is its
	// value. Empty: there is room for one.
	Full   string
	FullAt int64
}

// Step is one change to store: the row after it and its history record.
type Step struct {
	Row    Row
	Before leasehold.State

	// Kind is empty for a step that changes the row and leaves no record.
	Kind    leasehold.Kind
	Why     string
	Details map[string]string
}

// Outcome is the machine's answer.
type Outcome struct {
	// Row is the row after the operation; after a refusal, as it stands.
	Row Row

	// Steps are stored in order, in one atomic step with the answer. A refusal
	// may have one too: an expiry that was not yet recorded.
	Steps []Step

	// Reason says why the request is refused. Empty: it succeeded.
	Reason leasehold.Reason

	// Field and Problem explain ReasonInvalid and ReasonTooMany.
	Field, Problem string

	// Blocker is the row in the way of an acquire, if it is another than Row. Overlap
	// is where they meet, if either has claims.
	Blocker *Row
	Overlap *leasehold.Overlap

	// Reserved is the holder of the reservation in the way, if no row is.
	Reserved string

	// Cycle explains ReasonDeadlock.
	Cycle []leasehold.WaitEdge

	// Granted: a new lease, with the fresh token.
	Granted bool

	// Idempotent: the request repeats one that succeeded before.
	Idempotent bool

	// SameID: the id shown or proposed is the one on record. Azure's error
	// codes depend on it.
	SameID bool
}

// newOutcome starts the answer about a row: expired first, if its time is up.
func newOutcome(now Instant, row Row, id leasehold.ID) Outcome {
	o := Outcome{Row: row, SameID: !id.IsZero() && id == row.ID}
	if now.Clock < row.Ends { // spares most outcomes to be copied
		return o
	}
	return o.expire(now, row)
}

// expire records an expiry or a finished break if the row is past its end.
func (o Outcome) expire(now Instant, row Row) Outcome {
	current := row.At(now)
	if current.State != row.State {
		kind := leasehold.KindExpired
		if current.State == leasehold.StateBroken {
			kind = leasehold.KindBroken
		}
		o.Steps = append(o.Steps, Step{Row: current, Before: row.State, Kind: kind})
	}
	if row.Resource == o.Row.Resource {
		o.Row = current
	}
	return o
}

// step records the step to next.
func (o Outcome) step(next Row, kind leasehold.Kind, why string) Outcome {
	o.Steps = append(o.Steps, Step{Row: next, Before: o.Row.State, Kind: kind, Why: why})
	o.Row = next
	return o
}

func (o Outcome) refuse(reason leasehold.Reason) Outcome {
	o.Reason = reason
	return o
}

// tooMany refuses a new lease because a setting allows no more.
func (o Outcome) tooMany(fresh Fresh) Outcome {
	o.Field, o.Problem = fresh.Full, strconv.FormatInt(fresh.FullAt, 10)
	return o.refuse(leasehold.ReasonTooMany)
}

// endReason is the reason for a row that is neither active nor breaking.
func endReason(s leasehold.State) leasehold.Reason {
	switch s {
	case leasehold.StateReleased:
		return leasehold.ReasonReleased
	case leasehold.StateExpired:
		return leasehold.ReasonExpired
	case leasehold.StateBroken:
		return leasehold.ReasonBroken
	}
	return leasehold.ReasonNotFound
}

// match compares what the caller shows with the row. A wrong id says nothing
// about the lease that is there.
func match(row Row, id leasehold.ID, holder string, token uint64) leasehold.Reason {
	switch {
	case id == row.Former && row.Handed && !id.IsZero():
		return leasehold.ReasonReleased
	case id != row.ID || id.IsZero():
		return leasehold.ReasonNotFound
	}
	return matchSent(row, holder, token)
}

// matchSent compares what is optional: if it is sent, it must match.
func matchSent(row Row, holder string, token uint64) leasehold.Reason {
	switch {
	case holder != "" && holder != row.Holder:
		return leasehold.ReasonHolderMismatch
	case token != 0 && token != row.Token:
		return leasehold.ReasonTokenMismatch
	}
	return ""
}

// Expire records what time alone has done to the row: an expiry or a finished
// break. Steps is empty if that is nothing.
func Expire(now Instant, row Row) Outcome { return newOutcome(now, row, leasehold.ID{}) }
