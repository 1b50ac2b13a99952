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

// Step is one thing to write down: the row after it and its history record.
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

	// Steps are to be written in order and in one atomic step with the answer.
	// A refusal may have one too: an expiry that nobody had written down.
	Steps []Step

	// Reason says why not. Empty: it is done.
	Reason leasehold.Reason

	// Field and Problem explain ReasonInvalid and ReasonTooMany.
	Field, Problem string

	// Granted: a new lease, with the fresh token.
	Granted bool

	// Idempotent: the request had been carried out before.
	Idempotent bool

	// SameID: the id shown or proposed is the one on record. Azure's error
	// codes depend on it.
	SameID bool
}

// begin settles the row and opens the outcome.
func begin(now Instant, row Row, id leasehold.ID) Outcome {
	o := Outcome{Row: row, SameID: !id.IsZero() && id == row.ID}
	return o.settle(now, row)
}

// settle writes an expiry or a finished break down if the row is past its end.
func (o Outcome) settle(now Instant, row Row) Outcome {
	settled := row.At(now)
	if settled.State != row.State {
		kind := leasehold.KindExpired
		if settled.State == leasehold.StateBroken {
			kind = leasehold.KindBroken
		}
		o.Steps = append(o.Steps, Step{Row: settled, Before: row.State, Kind: kind})
	}
	if row.Resource == o.Row.Resource {
		o.Row = settled
	}
	return o
}

// to takes the step to next.
func (o Outcome) to(next Row, kind leasehold.Kind, why string) Outcome {
	o.Steps = append(o.Steps, Step{Row: next, Before: o.Row.State, Kind: kind, Why: why})
	o.Row = next
	return o
}

// no refuses.
func (o Outcome) no(reason leasehold.Reason) Outcome {
	o.Reason = reason
	return o
}

// tooMany refuses a new lease because there are as many as may be.
func (o Outcome) tooMany(fresh Fresh) Outcome {
	o.Field, o.Problem = fresh.Full, strconv.FormatInt(fresh.FullAt, 10)
	return o.no(leasehold.ReasonTooMany)
}

// ended is the reason for a row that is neither active nor breaking.
func ended(s leasehold.State) leasehold.Reason {
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

// Expire writes down what time alone has done to the row: Steps is empty if
// that is nothing.
func Expire(now Instant, row Row) Outcome { return begin(now, row, leasehold.ID{}) }
