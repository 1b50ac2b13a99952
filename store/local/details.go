package local

import "github.com/leasehold/leasehold/machine"

// detailCache keeps the details that many records share: thousands of records are in
// memory for watchers, and a map for each would be most of that. Most say only the ttl,
// or that and a caller. Nobody changes a record's details.
type detailCache map[detailKey]map[string]string

type detailKey struct {
	end    string
	ms     int64
	caller string
}

// maxDetails is when the cache is emptied.
const maxDetails = 256

// of returns the details of the step's record.
func (c detailCache) of(now machine.Instant, step *machine.Step) map[string]string {
	caller, named := step.Details["caller"]
	if len(step.Details) > 1 || len(step.Details) == 1 && !named {
		return step.RecordDetails(now)
	}
	end, ms := step.EndDetail(now)
	if end == "" {
		return step.Details
	}
	key := detailKey{end, ms, caller}
	details := c[key]
	if details == nil {
		details = step.RecordDetails(now)
		if len(c) >= maxDetails {
			clear(c)
		}
		c[key] = details
	}
	return details
}
