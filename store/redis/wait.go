package redis

import (
	"context"
	"sync"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

// wakeFor is how long a release publishes for a waiter that has tried once. A
// waiter tries at least every 6 s.
const wakeFor = 15 * time.Second

// Wait implements leasehold.Waiter. Waiters of one store are served in order;
// among stores the first to try is first.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Grant{}, opError("acquire", r.Resource, err)
	}
	stored, err := s.loadSettings(ctx)
	if err != nil {
		return leasehold.Grant{}, s.readFailure("acquire", r.Resource, err)
	}
	if stored[leasehold.SettingBlocking] == "false" {
		return leasehold.Grant{}, &leasehold.Error{Reason: leasehold.ReasonBlockingDisabled, Op: "acquire", Resource: r.Resource, Store: kind}
	}
	if r.Timeout == 0 {
		r.Timeout = waitTimeout(stored)
	}
	if r.Timeout == 0 {
		s.queues.Yield(ctx, r.Resource)
		return s.tryAcquire(ctx, r, attempt{})
	}
	s.subscriber.start(s)
	return s.queues.Wait(ctx, r)
}

// Waiting returns how many wait for the resource in this process. Those of other
// processes are not known here.
func (s *Store) Waiting(resource string) int { return s.queues.Waiting(resource) }

// waitTimeout is how long a wait lasts that does not say.
func waitTimeout(stored map[string]string) time.Duration {
	for _, setting := range leasehold.DefaultSettings() {
		if setting.Key == leasehold.SettingAcquireTimeout {
			if text, ok := stored[setting.Key]; ok {
				setting = withStored(setting, text)
			}
			return time.Duration(setting.Value.(int64)) * time.Millisecond
		}
	}
	return 0
}

// tryWaiting is one try of the first waiter.
func (s *Store) tryWaiting(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.tryAcquire(ctx, r, attempt{waits: wakeFor})
}

// tryRepeating looks whether a waiter that joins has the lease already.
func (s *Store) tryRepeating(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.tryAcquire(ctx, r, attempt{waits: wakeFor, repeat: true})
}

// waitFailed records that a wait ended without a grant.
func (s *Store) waitFailed(ctx context.Context, r leasehold.AcquireRequest, why string, waited time.Duration) {
	if !s.recording {
		return
	}
	args := s.arguments(r.Resource, "", "", []any{r.Holder, why, waited.Milliseconds()})
	if _, err := s.eval(ctx, failedScript, args); err != nil {
		s.opts.Logger.Warn("redis: a failed wait is not recorded", "resource", r.Resource, "err", err)
	}
}

// subscriber listens for leases that end on other servers, from the first wait
// on. Nobody waits until the subscription stands: then all waiters try again, so
// that a notice from before is not missed.
type subscriber struct{ once sync.Once }

func (u *subscriber) start(s *Store) {
	u.once.Do(func() { s.start(func(ctx context.Context) { u.listen(ctx, s) }) })
}

func (u *subscriber) listen(ctx context.Context, s *Store) {
	pubsub := s.client.Subscribe(ctx, s.keys.freed())
	defer pubsub.Close()
	notices := pubsub.ChannelWithSubscriptions()
	for {
		select {
		case <-ctx.Done():
			return
		case notice := <-notices:
			switch n := notice.(type) {
			case *redis.Message:
				s.queues.Wake(n.Payload)
			case *redis.Subscription: // the first, or after the connection was lost
				s.queues.WakeAll()
			}
		}
	}
}
