package local

import (
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// mostEnded is how many ended leases are remembered, however young they are;
// those of blobs are counted apart. A variable only because tests would have to
// make so many.
var mostEnded = 100_000

// refuseTTL refuses a ttl that is longer than the settings allow. Leases that
// are there keep what they have.
func (c *config) refuseTTL(resource string, ttl time.Duration) machine.Outcome {
	out := machine.Outcome{Row: machine.Row{Resource: resource}}
	if err, ok := leasehold.CheckTTL(ttl, c.maxTTL).(*leasehold.Error); ok {
		out.Reason, out.Field, out.Problem = err.Reason, err.Field, err.Problem
	}
	return out
}

// limit says in fresh whether there is room for one more live lease. Leases past
// their end are settled first if it comes to that: they do not count, even if
// nobody has written their end down yet. Those of health checks are not limited.
func (e *Engine) limit(now machine.Instant, resource, caller string, fresh *machine.Fresh) {
	if strings.HasPrefix(resource, leasehold.HealthPrefix) {
		return
	}
	if e.atLimit(caller, fresh) && !e.settling {
		e.settling = true // what expires may be granted to a waiter, which asks here again
		e.expire(now)
		e.settling = false
		*fresh = e.fresh(fresh.ID) // a waiter may have taken the token
		e.atLimit(caller, fresh)
	}
}

func (e *Engine) atLimit(caller string, fresh *machine.Fresh) bool {
	switch most, each := e.config.maxLeases, e.config.maxLeasesCaller; {
	case most != leasehold.Unlimited && int64(e.table.live) >= most:
		fresh.Full, fresh.FullAt = leasehold.SettingMaxLeases, most
	case each != leasehold.Unlimited && caller != "" && int64(e.table.callers[caller]) >= each:
		fresh.Full, fresh.FullAt = leasehold.SettingMaxLeasesCaller, each
	}
	return fresh.Full != ""
}

// LowOnSpace reports whether the disk is full and only leases and deletes have
// space left; see Spacer.
func (e *Engine) LowOnSpace() bool {
	s, ok := e.journal.(Spacer)
	return ok && s.LowOnSpace()
}

// fewRecords are not worth a purge, however little space there is.
const fewRecords = 1000

// historyLimit is how many records are kept. While space is low there are no
// more than nine tenths of those there were when it became so: new ones take the
// places of the oldest. The lock is held.
func (e *Engine) historyLimit() int64 {
	if !e.LowOnSpace() {
		e.lowLimit = 0
		return e.config.historyMaxRows
	}
	if e.lowLimit == 0 {
		e.lowLimit = max(fewRecords, int64(e.seq-e.purged)*9/10)
	}
	return min(e.lowLimit, e.config.historyMaxRows)
}

// nextEnd is when the next live lease ends by itself, zero if none does.
func (e *Engine) nextEnd(now machine.Instant) time.Duration {
	if e.table.due.len() == 0 {
		return 0
	}
	return max(0, time.Duration(e.table.due.first().row.Ends-now.Clock))
}

// forgetExtra drops the oldest ended rows if there are too many: two for each
// that ends, so that what was loaded beyond the bound goes too.
func (e *Engine) forgetExtra(now machine.Instant) {
	if max(e.table.ended.len, e.table.scoped.len) > mostEnded {
		e.forgetOld(now, 2)
	}
}

// forgetOld drops rows whose last lease ended long ago, and the oldest of those
// that are too many, up to most of each kind.
func (e *Engine) forgetOld(now machine.Instant, most int) (n int) {
	for _, ended := range []*list{&e.table.ended, &e.table.scoped} {
		for range most {
			oldest := ended.head
			if oldest == nil || ended.len <= mostEnded && oldest.row.Ends+machine.Time(Remembered) > now.Clock {
				break
			}
			e.forget(oldest)
			n++
		}
	}
	return n
}
