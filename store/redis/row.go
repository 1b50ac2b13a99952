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
	fields   []string // in order; the last ones may be left out
	metadata map[string]string
}

// parseRow reads a lease from an answer: its fields in order, and if it has metadata,
// all its fields by name. Without fields there is none.
func parseRow(texts []string) (*row, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	r := &row{fields: texts[:min(len(texts), int(fieldCount))]}
	named := texts[len(r.fields):]
	if len(named)%2 != 0 {
		return nil, fmt.Errorf("the lease in the script's answer has %d texts more than its fields, want pairs", len(named))
	}
	for i := 0; i < len(named); i += 2 {
		r.addMetadata(named[i], named[i+1])
	}
	return r, nil
}

// newRow makes a lease of its hash.
func newRow(hash map[string]string) *row {
	if len(hash) == 0 {
		return nil
	}
	r := &row{fields: make([]string, fieldCount)}
	for i, name := range fieldNames {
		r.fields[i] = hash[name]
	}
	for name, value := range hash {
		r.addMetadata(name, value)
	}
	return r
}

// addMetadata adds a field of the hash if it is metadata.
func (r *row) addMetadata(name, value string) {
	key, ok := strings.CutPrefix(name, metaPrefix)
	if !ok {
		return
	}
	if r.metadata == nil {
		r.metadata = map[string]string{}
	}
	r.metadata[key] = value
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

func (r *row) get(f field) string {
	if r == nil || int(f) >= len(r.fields) {
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
