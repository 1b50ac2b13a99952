package machine

import "github.com/leasehold/leasehold"

// Access is what a guarded request does to the thing that a lease protects.
type Access bool

// The two kinds of access.
const (
	Read  Access = false
	Write Access = true
)

// Guard decides whether a request that shows this id, or none, may touch what
// the lease protects. An unguarded write after the lease has ended makes the
// resource available: the old lease can no longer be revived.
func Guard(now Instant, id leasehold.ID, access Access, row Row) Outcome {
	o := newOutcome(now, row, id)
	locked := o.Row.State.Locked()
	switch {
	case !id.IsZero() && !locked:
		return o.refuse(leasehold.ReasonNotPresent)
	case !id.IsZero() && !o.SameID:
		return o.refuse(leasehold.ReasonIDMismatch)
	case id.IsZero() && locked && access == Write:
		return o.refuse(leasehold.ReasonMissing)
	case id.IsZero() && access == Write && o.Row.State != leasehold.StateAvailable:
		return o.step(Row{Resource: row.Resource}, "", "")
	}
	return o
}
