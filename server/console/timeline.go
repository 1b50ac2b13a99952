package console

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/leasehold/leasehold"
)

// span is one lease on the timeline, as parts of a thousand of its width.
type span struct {
	Holder   string
	Token    uint64
	From, To time.Time
	X, Width float64
	Color    int // of the holder, 0 to 5
	Live     bool
}

// timeline turns records, newest first, into spans up to end. Live says that the
// newest lease still stands.
func timeline(records []leasehold.Record, end time.Time, live bool) (spans []span, from, to time.Time) {
	if len(records) == 0 {
		return nil, end, end
	}
	from = records[len(records)-1].At
	if !end.After(from) {
		end = from.Add(time.Second)
	}
	colors := map[string]int{}
	var open *span
	for _, r := range slices.Backward(records) {
		if r.Token == 0 || r.Kind == leasehold.KindFailed {
			continue
		}
		if open != nil && open.Token != r.Token { // the next lease: whatever ended this one is not known
			open.To = r.At
			spans, open = append(spans, *open), nil
		}
		if open == nil {
			if !r.After.Locked() && r.Kind != leasehold.KindAcquired && len(spans) > 0 {
				continue
			}
			if _, ok := colors[r.Holder]; !ok {
				colors[r.Holder] = len(colors) % 6
			}
			open = &span{Holder: r.Holder, Token: r.Token, From: r.At, Color: colors[r.Holder]}
			if r.Before.Locked() && r.Kind != leasehold.KindAcquired && r.Kind != leasehold.KindTransferred { // it began before the oldest record shown
				open.From = from
			}
		}
		if !r.After.Locked() {
			open.To = r.At
			spans, open = append(spans, *open), nil
		}
	}
	if open != nil {
		open.To, open.Live = end, live
		spans = append(spans, *open)
	}
	whole := end.Sub(from).Seconds()
	for i := range spans {
		s := &spans[i]
		s.X = 1000 * s.From.Sub(from).Seconds() / whole
		s.Width = max(2, 1000*s.To.Sub(s.From).Seconds()/whole)
	}
	return spans, from, end
}

func sortedPairs(m map[string]string) []string {
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(m)) {
		pairs = append(pairs, key+"="+m[key])
	}
	return pairs
}

// values encodes keys and values as a query, without those that are empty.
func values(pairs ...string) string {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q.Encode()
}
