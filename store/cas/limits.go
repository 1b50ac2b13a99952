package cas

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
)

// grantsPerSecond is more than all servers of such a service grant together: so
// long as a limit cannot have been reached since the last count, nothing is
// counted again. A count is exact when it matters, but grants under way at the
// same time do not see each other.
const grantsPerSecond = 50_000

// counted is the last count of all live leases.
type counted struct {
	mu   sync.Mutex
	live int64
	at   time.Time
}

// room reports whether there are for sure fewer live leases than limit.
func (c *counted) room(limit int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := time.Since(c.at)
	return since < 10*time.Second && c.live+int64(since.Seconds()*grantsPerSecond)+grantsPerSecond/10 < limit
}

func (c *counted) set(live int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live, c.at = live, time.Now()
}

// checkLimits notes the setting that allows no more leases, if there is one.
func (s *Store) checkLimits(ctx context.Context, f *found, caller string) error {
	counter, ok := s.backend.(Counter)
	if !ok || f.settings == nil {
		return nil
	}
	all, own := f.settings.MaxLeases, f.settings.MaxLeasesCaller
	if caller == "" {
		own = leasehold.Unlimited
	}
	if own == leasehold.Unlimited && (all == leasehold.Unlimited || s.counted.room(all)) {
		return nil
	}
	if own == leasehold.Unlimited {
		caller = ""
	}
	live, callers, err := counter.Count(ctx, caller, max(all, own))
	if err != nil {
		return s.failures.Read(ctx, "acquire", f.row.Resource, err)
	}
	s.counted.set(live)
	switch {
	case all != leasehold.Unlimited && live >= all:
		f.full, f.fullAt = leasehold.SettingMaxLeases, all
	case own != leasehold.Unlimited && callers >= own:
		f.full, f.fullAt = leasehold.SettingMaxLeasesCaller, own
	}
	return nil
}
