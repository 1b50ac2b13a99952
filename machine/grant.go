package machine

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/leasehold/leasehold"
)

// maxNotes is how many notes a holder is shown at most.
const maxNotes = 16

func grant(now Instant, o Outcome, r *leasehold.AcquireRequest, fresh Fresh, conflicts []Row, p Policy) Outcome {
	if fresh.Full != "" {
		return o.tooMany(fresh)
	}
	next := Row{
		Resource:    r.Resource,
		Holder:      r.Holder,
		ID:          r.ID,
		Token:       fresh.Token,
		State:       leasehold.StateActive,
		TTL:         r.TTL,
		Ends:        now.after(r.TTL),
		Acquired:    now.Wall,
		Renewed:     now.Wall,
		MaxRenewals: int32(*r.MaxRenewals),
		Metadata:    r.Metadata,
		Caller:      r.Caller,
		Scoped:      p.ScopedIDs,
		Claims:      r.Claims,
	}
	if next.ID.IsZero() {
		next.ID = fresh.ID
	}
	if r.Claims != nil {
		next.Resource = SetName(fresh.Token)
	}
	next.Notes = o.readNotes(r, conflicts)
	o.Granted = true
	o = o.step(next, leasehold.KindAcquired, "")
	if r.Claims != nil {
		o.describe()
	}
	return o
}

// SetName is the name of a set that was granted with the token.
func SetName(token uint64) string { return leasehold.SetPrefix + strconv.FormatUint(token, 10) }

// readNotes collects what earlier holders left for this one, and removes it from
// their rows.
func (o *Outcome) readNotes(r *leasehold.AcquireRequest, conflicts []Row) (notes []leasehold.Note) {
	for i := range conflicts {
		c := &conflicts[i]
		if len(c.Notes) == 0 || c.State.Locked() || !Meet(Covers(r.Resource, r.Claims), c.Covers()) {
			continue
		}
		notes = append(notes, c.Notes...)
		if c.Resource != r.Resource { // else the grant replaces the row
			read := *c
			read.Notes, read.Claims = nil, nil
			o.Steps = append(o.Steps, Step{Row: read, Before: c.State})
		}
	}
	return slices.Clip(notes[max(0, len(notes)-maxNotes):])
}

// changeModes upgrades or downgrades a set: a new grant, since others may act in
// between, which counts as a renewal.
func changeModes(now Instant, o Outcome, r leasehold.AcquireRequest, fresh Fresh) Outcome {
	before := o.Row.Token
	o = extend(now, o, r.TTL)
	if o.Reason != "" {
		return o
	}
	last := &o.Steps[len(o.Steps)-1]
	last.Kind = leasehold.KindAcquired
	last.Row.Token, last.Row.Claims = fresh.Token, r.Claims
	o.Row, o.Granted = last.Row, true
	o.describe()
	o.Steps[len(o.Steps)-1].Details["replaces_token"] = strconv.FormatUint(before, 10)
	return o
}

// describe says in the record of the last step what a set covers.
func (o *Outcome) describe() {
	o.Steps[len(o.Steps)-1].Details = map[string]string{"claims": DescribeClaims(o.Row.Claims)}
}

// DescribeClaims writes claims for a record, as JSON.
func DescribeClaims(claims []leasehold.Claim) string {
	text, _ := json.Marshal(claims) // cannot fail: they are strings
	return string(text)
}
