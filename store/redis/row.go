package redis

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// field is a field of a lease's hash, by its place in the lists that the scripts
// read and answer.
type field int

const (
	leaseID field = iota
	holder
	token
	state
	acquiredAt
	renewedAt
	ttlMs
	endsAt
	renewals
	maxRenewals
	op        // mark of the last operation
	metadata  // there are fields meta_KEY
	caller    // for max_leases_per_caller
	waiting   // somebody waits, until this time
	former    // the id before a change or a transfer
	handed    // whether it was a transfer
	claim     // on a Cluster, the mark with which the id was claimed
	noted     // on a Cluster, the end that stands in the index
	endedFrom // on a Cluster, that end once the lease has ended

	fieldCount
)

// fieldNames are the fields as they are called in Redis.
var fieldNames = [fieldCount]string{
	"leaseId", "holder", "token", "state", "acquiredAt", "renewedAt", "ttlMs", "endsAt", "renewals", "maxRenewals",
	"op", "metadata", "caller", "waiting", "former", "handed", "claim", "noted", "endedFrom",
}

const metaPrefix = "meta_"

// row is a lease as it stands in Redis. Nil has no fields.
type row struct {
	fields   [fieldCount]string
	metadata map[string]string
}

// parseRow reads a lease from an answer: its fields in order, and all its fields
// by name if it has metadata. Without fields there is none.
func parseRow(fields, all any) (*row, error) {
	values, ok := fields.([]any)
	if !ok || len(values) > int(fieldCount) {
		return nil, fmt.Errorf("the lease in the script's answer is %T of %d parts, want %d at most", fields, len(values), fieldCount)
	}
	named, err := parsePairs(all)
	if err != nil || len(values) == 0 {
		return nil, err
	}
	r := &row{metadata: metadataOf(named)}
	for i, value := range values {
		if value == nil {
			continue
		}
		if r.fields[i], ok = value.(string); !ok {
			return nil, fmt.Errorf("the field %s in the script's answer is %T, want a string", fieldNames[i], value)
		}
	}
	return r, nil
}

// newRow makes a lease of its hash.
func newRow(hash map[string]string) *row {
	if len(hash) == 0 {
		return nil
	}
	r := &row{metadata: metadataOf(hash)}
	for i, name := range fieldNames {
		r.fields[i] = hash[name]
	}
	return r
}

// parsePairs reads a hash from an answer.
func parsePairs(part any) (map[string]string, error) {
	flat, ok := part.([]any)
	if !ok || len(flat)%2 != 0 {
		return nil, fmt.Errorf("a hash in the script's answer is %T of %d parts, want pairs", part, len(flat))
	}
	if len(flat) == 0 {
		return nil, nil
	}
	pairs := make(map[string]string, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		key, okKey := flat[i].(string)
		value, okValue := flat[i+1].(string)
		if !okKey || !okValue {
			return nil, fmt.Errorf("a field in the script's answer is %T and %T, want strings", flat[i], flat[i+1])
		}
		pairs[key] = value
	}
	return pairs, nil
}

func metadataOf(hash map[string]string) map[string]string {
	var m map[string]string
	for field, value := range hash {
		if key, ok := strings.CutPrefix(field, metaPrefix); ok {
			if m == nil {
				m = map[string]string{}
			}
			m[key] = value
		}
	}
	return m
}

func (r *row) get(f field) string {
	if r == nil {
		return ""
	}
	return r.fields[f]
}

func (r *row) number(f field) int64 {
	n, _ := strconv.ParseInt(r.get(f), 10, 64)
	return n
}

func (r *row) time(f field) time.Time { return time.UnixMilli(r.number(f)).UTC() }

func (r *row) ttl() time.Duration {
	if ms := r.number(ttlMs); ms >= 0 {
		return time.Duration(ms) * time.Millisecond
	}
	return leasehold.Infinite
}
