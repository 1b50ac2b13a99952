package past

import (
	"time"

	"github.com/leasehold/leasehold"
)

// gaps are the stretches in which records were not kept.
type gaps struct {
	history  []span // none at all
	renewals []span // none of renewals
	expiries []span // those of expiries late
}

// span is a stretch of time. A zero start or end is open.
type span struct{ from, to time.Time }

// meets says whether the stretch has a part after from and up to to.
func (s span) meets(from, to time.Time) bool {
	return (s.from.IsZero() || s.from.Before(to)) && (s.to.IsZero() || s.to.After(from))
}

// findGaps reads the changes of settings, newest first. Off are the settings that are
// off now.
func findGaps(changes []leasehold.Record, off map[string]bool) gaps {
	find := func(key string) []span { return offTimes(changes, key, off[key]) }
	return gaps{
		history:  find(leasehold.SettingKeepHistory),
		renewals: find(leasehold.SettingHistoryRenewals),
		expiries: find(leasehold.SettingAutoExpire),
	}
}

// offTimes finds when a setting was off. The records of old changes may be purged: the
// oldest that is left says what was before.
func offTimes(changes []leasehold.Record, key string, off bool) (spans []span) {
	var later time.Time // of the change after this one; zero: there is none
	for _, c := range changes {
		if c.Details["key"] != key {
			continue
		}
		if c.Details["value"] == "false" {
			spans = append(spans, span{c.At, later})
		}
		later, off = c.At, c.Details["before"] == "false"
	}
	if off {
		spans = append(spans, span{time.Time{}, later})
	}
	return spans
}

// missing says whether records may be missing after one moment and up to another.
func (g gaps) missing(from, to time.Time) bool { return anyMeets(g.history, from, to) }

// missingRenewals is missing of renewals.
func (g gaps) missingRenewals(from, to time.Time) bool {
	return anyMeets(g.history, from, to) || anyMeets(g.renewals, from, to)
}

// missingEnds says whether a renewal may be missing that made a lease end sooner, and
// the record of that end, too.
func (g gaps) missingEnds(from, to time.Time) bool {
	return g.missingRenewals(from, to) && len(g.expiries) > 0
}

func anyMeets(spans []span, from, to time.Time) bool {
	for _, s := range spans {
		if s.meets(from, to) {
			return true
		}
	}
	return false
}
