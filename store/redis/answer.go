package redis

import (
	"fmt"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// answer is what a script returns; see answer in begin.lua.
type answer struct {
	reason, field, problem string
	now                    time.Time // the server's
	flag                   string    // granted, idempotent or ended
	row                    *row
}

// headCount is how many texts of an answer are not of the lease.
const headCount = 5

// parseAnswer reads what a script returned.
func parseAnswer(texts []string) (answer, error) {
	if len(texts) < headCount {
		return answer{}, fmt.Errorf("the script answered %d texts, want %d at least", len(texts), headCount)
	}
	a := answer{reason: texts[0], field: texts[3], problem: texts[4]}
	if a.reason == "" {
		a.flag, a.field = a.field, ""
	}
	seconds, err := strconv.ParseInt(texts[1], 10, 64)
	if err != nil {
		return answer{}, fmt.Errorf("the script's time: %w", err)
	}
	micros, err := strconv.ParseInt(texts[2], 10, 64)
	if err != nil {
		return answer{}, fmt.Errorf("the script's time: %w", err)
	}
	a.now = time.Unix(seconds, micros*1000).UTC()
	a.row, err = parseRow(texts[headCount:])
	return a, err
}

// resolved is the answer of an operation whose own answer was lost.
func (a answer) resolved() answer {
	a.flag = "granted"
	if a.row.get(renewals) != "0" {
		a.flag = "idempotent"
	}
	return a
}

// driftFactor is how much slower than the server's a client's clock is allowed
// to be: the end reported to a lease's owner is earlier by it.
const driftFactor = 0.01

// lease returns the lease without its id.
func (r *row) lease(resource string, now time.Time) leasehold.Lease {
	if r == nil {
		r = new(row)
	}
	l := leasehold.Lease{
		Resource:    resource,
		Holder:      r.get(holder),
		Token:       uint64(r.number(token)),
		TTL:         r.ttl(),
		AcquiredAt:  r.time(acquiredAt),
		RenewedAt:   r.time(renewedAt),
		Renewals:    int(r.number(renewals)),
		MaxRenewals: int(r.number(maxRenewals)),
		Metadata:    r.metadata,
	}
	l.State, _ = leasehold.ParseState(r.get(state))
	if r.get(endsAt) == "-1" {
		l.Remaining = leasehold.Infinite
		return l
	}
	l.ExpiresAt = r.time(endsAt)
	if l.State.Locked() {
		// The server counts in milliseconds, and the lease is live: so at least one
		// microsecond remains.
		l.Remaining = max(l.ExpiresAt.Sub(now), time.Microsecond)
	}
	return l
}

// owned is lease with the id, and with an end that allows for clock drift: for
// answers to the lease's owner.
func (r *row) owned(resource string, now time.Time) leasehold.Lease {
	l := r.lease(resource, now)
	l.ID, _ = leasehold.ParseID(r.get(leaseID))
	if l.State.Locked() && l.Remaining != leasehold.Infinite {
		l.ExpiresAt = l.ExpiresAt.Add(-drift(l.Remaining))
	}
	return l
}

func drift(d time.Duration) time.Duration { return time.Duration(float64(d) * driftFactor) }

// milliseconds is a ttl as the scripts want it.
func milliseconds(ttl time.Duration) int64 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return ttl.Milliseconds()
}
