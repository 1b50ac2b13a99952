package past

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

// Waits are those that went on at a moment and ended within an hour after it, by their
// start.
type Waits struct {
	Time  time.Time
	Waits []Wait
	Known Known // Uncertain: for a time no records were kept, so some may be missing
	Retained
}

// Wait is a wait and what it was for.
type Wait struct {
	Resource string
	Claims   []leasehold.Claim // for several resources
	Waiter
}

// Waiting answers who waited at a moment, for whatever.
func Waiting(ctx context.Context, h leasehold.Historian, at time.Time, opts *Options) (Waits, error) {
	r, err := newReader(ctx, h, at, opts)
	if err != nil {
		return Waits{}, err
	}
	all := Waits{Time: r.at, Known: Certain}
	q := leasehold.HistoryRequest{Since: r.at.Add(grain), Until: r.at.Add(fullWindow)}
	whole, err := r.each(q, func(record leasehold.Record) bool {
		if w, ok := waiter(record, r.at); ok {
			each := Wait{Resource: record.Resource, Waiter: w}
			_ = json.Unmarshal([]byte(record.Details["claims"]), &each.Claims) // most have none
			all.Waits = append(all.Waits, each)
		}
		return true
	})
	slices.SortFunc(all.Waits, func(x, y Wait) int { return x.Since.Compare(y.Since) })
	if r.gaps.missing(r.at, q.Until) {
		all.Known = Uncertain
	}
	r.retained.Incomplete = !whole
	all.Retained = r.retained
	return all, err
}
