package azblob

import (
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// grain is how coarse the service's times are: whole seconds, cut off.
const grain = time.Second

// serviceClock follows the service's clock by the times in its answers.
type serviceClock struct {
	mu   sync.Mutex
	date time.Time // the latest seen
	at   time.Time // by this machine's clock, when it was seen
}

func (c *serviceClock) note(date *time.Time) {
	if date == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if date.After(c.date) {
		c.date, c.at = *date, time.Now()
	}
}

// now is the service's time, or up to grain and the way of an answer less; this
// machine's before the first answer. Nothing about the end of a lease is decided by it but
// whether to read the blob first.
func (c *serviceClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return time.Now().UTC()
	}
	return c.date.Add(time.Since(c.at)).UTC()
}

// started is when the service last started the ttl, or a little before.
func (v *view) started() time.Time {
	if v.renewed.IsZero() {
		return v.modified
	}
	return v.renewed
}

// ends is when the lease ends, or a little before.
func (v *view) ends() time.Time { return v.started().Add(v.length()) }

// length is the ttl of a lease that ends.
func (v *view) length() time.Duration {
	if v.ttl == leasehold.Infinite { // a renewal to or from Infinite was cut off before it was noted
		return maxTTL
	}
	return v.ttl
}

// surelyLiveAt reports whether the lease cannot have ended at a time of which the
// service's answer tells the second.
func (v *view) surelyLiveAt(date time.Time) bool {
	return v.infinite || !date.IsZero() && !date.Add(grain).After(v.ends())
}

// lease is what the blob says of its live lease.
func (v *view) lease() leasehold.Lease {
	l := leasehold.Lease{
		Resource: v.resource, Holder: v.holder, Token: v.token, State: leasehold.StateActive,
		TTL: v.ttl, Remaining: leasehold.Infinite,
		AcquiredAt: v.acquired, RenewedAt: v.acquired,
		Renewals: v.renewals, MaxRenewals: leasehold.Unlimited, Metadata: v.metadata,
	}
	if v.renewed.After(v.acquired) {
		l.RenewedAt = v.renewed
	}
	if v.infinite {
		l.TTL = leasehold.Infinite
		return l
	}
	l.TTL = v.length()
	l.Remaining = min(max(v.ends().Sub(v.now.Add(grain)), time.Millisecond), l.TTL)
	l.ExpiresAt = l.RenewedAt.Add(l.TTL)
	return l
}
