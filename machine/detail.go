package machine

import (
	"maps"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
)

// What the details of a record say of the lease's end, so that a reader of the history
// knows it at any moment between two records.
const (
	// DetailEndsIn is when a live lease ends, in milliseconds after its record; -1
	// means never.
	DetailEndsIn = "ends_in_ms"
	// DetailEndedAgo is how long before its record a lease ended, in milliseconds;
	// none if that was at once.
	DetailEndedAgo = "ended_ms_ago"
)

// EndDetail returns the detail that the record of the step has about the end; an empty
// key: none.
func (s *Step) EndDetail(now Instant) (key string, ms int64) {
	switch {
	case s.Row.State.Locked() && s.Row.Ends == Never:
		return DetailEndsIn, -1
	case s.Row.State.Locked():
		return DetailEndsIn, (time.Duration(s.Row.Ends - now.Clock)).Milliseconds()
	case s.Kind == leasehold.KindExpired || s.Kind == leasehold.KindBroken:
		if ms = (time.Duration(now.Clock - s.Row.Ends)).Milliseconds(); ms > 0 {
			return DetailEndedAgo, ms
		}
	}
	return "", 0
}

// RecordDetails returns the details of the step's record: its own, which it does not
// change, and that about the end.
func (s *Step) RecordDetails(now Instant) map[string]string {
	key, ms := s.EndDetail(now)
	if key == "" {
		return s.Details
	}
	details := make(map[string]string, len(s.Details)+1)
	maps.Copy(details, s.Details)
	details[key] = strconv.FormatInt(ms, 10)
	return details
}
