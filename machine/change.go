package machine

import "github.com/leasehold/leasehold"

// Change swaps the id of an active lease. Known is the row by which the store
// knows the proposed id, as in Acquire.
func Change(now Instant, r leasehold.ChangeRequest, row Row, known *Row, p Policy) Outcome {
	o := newOutcome(now, row, r.ID)
	if o.Row.State == leasehold.StateActive && r.Proposed == o.Row.ID && (p.ChangeToCurrent || repeats(o.Row, r.ID, false)) {
		if reason := matchSent(o.Row, r.Holder, r.Token); reason != "" {
			return o.refuse(reason)
		}
		o.Idempotent = true
		return o
	}
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.refuse(reason)
	}
	if o = checkProposed(now, o, r.Proposed, known, p); o.Reason != "" {
		return o
	}
	if r.Proposed == o.Row.ID {
		o.Idempotent = true
		return o
	}
	next := o.Row
	next.ID, next.Former, next.Handed = r.Proposed, o.Row.ID, false
	return o.step(next, leasehold.KindChanged, "")
}

// Transfer moves an active lease to another holder. Known is as in Acquire.
func Transfer(now Instant, r leasehold.TransferRequest, fresh Fresh, row Row, known *Row, p Policy) Outcome {
	o := newOutcome(now, row, r.ID)
	if o.Row.State == leasehold.StateActive && r.Proposed == o.Row.ID && r.To == o.Row.Holder && repeats(o.Row, r.ID, true) {
		o.Idempotent = true
		return o
	}
	if reason := match(o.Row, r.ID, r.Holder, r.Token); reason != "" {
		return o.refuse(reason)
	}
	if r.To == o.Row.Holder {
		o.Field, o.Problem = "to_holder", "holds the lease already; name another holder"
		return o.refuse(leasehold.ReasonInvalid)
	}
	if o = checkProposed(now, o, r.Proposed, known, p); o.Reason != "" {
		return o
	}
	if r.Proposed == o.Row.ID { // the old holder would keep the secret
		return o.refuse(leasehold.ReasonIDInUse)
	}
	next := o.Row
	next.Holder, next.Token = r.To, fresh.Token
	next.Acquired, next.Renewed = now.Wall, now.Wall // since when the new holder has it
	next.ID, next.Former, next.Handed = r.Proposed, o.Row.ID, true
	if next.ID.IsZero() {
		next.ID = fresh.ID
	}
	if r.Metadata != nil {
		next.Metadata = r.Metadata
	}
	next.Notes = nil
	if r.Note != "" {
		next.Notes = []leasehold.Note{{From: o.Row.Holder, Text: r.Note}}
	}
	o.Granted = true
	o = o.step(next, leasehold.KindTransferred, "")
	o.Steps[len(o.Steps)-1].Details = map[string]string{"from": row.Holder}
	return o
}

// repeats reports whether a change or transfer that shows this id already
// happened.
func repeats(row Row, shown leasehold.ID, handed bool) bool {
	return shown == row.Former && !shown.IsZero() && row.Handed == handed
}

// checkProposed refuses if the lease cannot get the proposed id. Field is set
// where the proposal is wrong and the lease itself is not.
func checkProposed(now Instant, o Outcome, proposed leasehold.ID, known *Row, p Policy) Outcome {
	switch o.Row.State {
	case leasehold.StateActive:
	case leasehold.StateBreaking:
		return o.refuse(leasehold.ReasonBreaking)
	default:
		return o.refuse(endReason(o.Row.State))
	}
	if reason := unusable(now, proposed, known, o.Row.Resource, p); reason != "" {
		o.Field = "proposed_lease_id"
		return o.refuse(reason)
	}
	return o
}
