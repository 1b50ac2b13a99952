package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// answer is what a script returns; see answer in begin.lua.
type answer struct {
	reason, field, problem string
	now                    time.Time // the server's
	flag                   string    // granted or idempotent
	row                    row
}

// row is a lease as it stands in Redis; nil: there is none.
type row map[string]string

// parseAnswer reads what a script returned.
func parseAnswer(result any) (answer, error) {
	parts, ok := result.([]any)
	if !ok || len(parts) != 6 {
		return answer{}, fmt.Errorf("the script answered %T of %d parts, want 6", result, len(parts))
	}
	var text [5]string
	for i := range text {
		if text[i], ok = parts[i].(string); !ok {
			return answer{}, fmt.Errorf("part %d of the script's answer is %T, want a string", i+1, parts[i])
		}
	}
	a := answer{reason: text[0], field: text[1], problem: text[2], flag: text[4]}
	micros, err := strconv.ParseInt(text[3], 10, 64)
	if err != nil {
		return answer{}, fmt.Errorf("the script's time: %w", err)
	}
	a.now = time.UnixMicro(micros).UTC()
	a.row, err = parseRow(parts[5])
	return a, err
}

func parseRow(part any) (row, error) {
	flat, ok := part.([]any)
	if !ok || len(flat)%2 != 0 {
		return nil, fmt.Errorf("the lease in the script's answer is %T of %d parts, want pairs", part, len(flat))
	}
	if len(flat) == 0 {
		return nil, nil
	}
	r := make(row, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		key, okKey := flat[i].(string)
		value, okValue := flat[i+1].(string)
		if !okKey || !okValue {
			return nil, fmt.Errorf("a field of the lease in the script's answer is %T and %T, want strings", flat[i], flat[i+1])
		}
		r[key] = value
	}
	return r, nil
}

// resolved is the answer of an operation whose own answer was lost.
func (a answer) resolved() answer {
	a.flag = "granted"
	if a.row["renewals"] != "0" {
		a.flag = "idempotent"
	}
	return a
}

// complete adds what the program knows of a new lease to what the script says.
func (a answer) complete(q leasehold.AcquireRequest, id leasehold.ID) {
	r, now := a.row, a.now.UnixMilli()
	if _, whole := r["leaseId"]; whole {
		return // the answer was lost, and the lease was read
	}
	r["leaseId"], r["holder"], r["state"], r["renewals"] = id.Reveal(), q.Holder, leasehold.StateActive.String(), "0"
	r["acquiredAt"] = strconv.FormatInt(now, 10)
	r["renewedAt"], r["endsAt"] = r["acquiredAt"], "-1"
	if ttl := r.number("ttlMs"); ttl != -1 {
		r["endsAt"] = strconv.FormatInt(now+ttl, 10)
	}
	for key, value := range q.Metadata {
		r[metaPrefix+key] = value
	}
}

// driftFactor is how much slower than the server's a client's clock is allowed
// to be: the end reported to a lease's owner is earlier by it.
const driftFactor = 0.01

// lease returns the lease without its id.
func (r row) lease(resource string, now time.Time) leasehold.Lease {
	l := leasehold.Lease{
		Resource:    resource,
		Holder:      r["holder"],
		Token:       uint64(r.number("token")),
		TTL:         r.ttl(),
		AcquiredAt:  r.time("acquiredAt"),
		RenewedAt:   r.time("renewedAt"),
		Renewals:    int(r.number("renewals")),
		MaxRenewals: int(r.number("maxRenewals")),
		Metadata:    r.metadata(),
	}
	l.State, _ = leasehold.ParseState(r["state"])
	if r["endsAt"] == "-1" {
		l.Remaining = leasehold.Infinite
		return l
	}
	l.ExpiresAt = r.time("endsAt")
	if l.State.Locked() {
		// The server counts in milliseconds, and the lease is live: so at least one
		// microsecond remains.
		l.Remaining = max(l.ExpiresAt.Sub(now), time.Microsecond)
	}
	return l
}

// owned is lease with the id, and with an end that allows for clock drift: for
// answers to the lease's owner.
func (r row) owned(resource string, now time.Time) leasehold.Lease {
	l := r.lease(resource, now)
	l.ID, _ = leasehold.ParseID(r["leaseId"])
	if l.State.Locked() && l.Remaining != leasehold.Infinite {
		l.ExpiresAt = l.ExpiresAt.Add(-drift(l.Remaining))
	}
	return l
}

func drift(d time.Duration) time.Duration { return time.Duration(float64(d) * driftFactor) }

func (r row) number(field string) int64 {
	n, _ := strconv.ParseInt(r[field], 10, 64)
	return n
}

func (r row) time(field string) time.Time { return time.UnixMilli(r.number(field)).UTC() }

func (r row) ttl() time.Duration {
	if ms := r.number("ttlMs"); ms >= 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return leasehold.Infinite
}

const metaPrefix = "meta_"

func (r row) metadata() map[string]string {
	var m map[string]string
	for field, value := range r {
		if key, ok := strings.CutPrefix(field, metaPrefix); ok {
			if m == nil {
				m = map[string]string{}
			}
			m[key] = value
		}
	}
	return m
}

// milliseconds is a ttl as the scripts want it.
func milliseconds(ttl time.Duration) int64 {
	if ttl == leasehold.Infinite {
		return -1
	}
	return ttl.Milliseconds()
}
