package auth

import (
	"container/list"
	"context"
	"math"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// limit is a rate and a burst; a rate that is negative means none.
type limit struct {
	perSecond float64
	burst     int
}

func (l limit) limiter() *rate.Limiter {
	if l.perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(l.perSecond), l.burst)
}

// allow counts one request, or says how long to wait for the next.
func allow(l *rate.Limiter) (wait time.Duration, ok bool) {
	if l.Allow() {
		return 0, true
	}
	missing := math.Max(1-l.Tokens(), 0)
	return time.Duration(missing / float64(l.Limit()) * float64(time.Second)), false
}

type limiterKey struct{}

func withLimiter(ctx context.Context, l *rate.Limiter) context.Context {
	return context.WithValue(ctx, limiterKey{}, l)
}

// AllowOperation counts one more request against the rate of the context's
// caller, or says how long to wait for the next. The guard has counted the request
// itself; an API whose request stands for several counts the others.
func AllowOperation(ctx context.Context) (wait time.Duration, ok bool) {
	l, limited := ctx.Value(limiterKey{}).(*rate.Limiter)
	if !limited {
		return 0, true
	}
	return allow(l)
}

// maxAddresses bounds the memory of failures; the address that was quiet for
// the longest is forgotten first.
const maxAddresses = 4096

// failureLimit is how often an address may fail to show a valid token before it
// must wait. Secrets cannot be guessed at any rate: this keeps noise small.
var failureLimit = limit{perSecond: 10, burst: 50}

// failures has a limiter for each address that showed no valid token.
type failures struct {
	limit limit

	mu        sync.Mutex
	byAddress map[netip.Prefix]*list.Element
	recent    list.List // of *addressLimiter, the latest first
}

type addressLimiter struct {
	address netip.Prefix
	limiter *rate.Limiter
}

func newFailures(l limit) *failures {
	return &failures{limit: l, byAddress: map[netip.Prefix]*list.Element{}}
}

// limiter returns the limiter of a remote address.
func (f *failures) limiter(remote string) *rate.Limiter {
	address := network(remote)
	f.mu.Lock()
	defer f.mu.Unlock()
	if e, ok := f.byAddress[address]; ok {
		f.recent.MoveToFront(e)
		return e.Value.(*addressLimiter).limiter
	}
	if f.recent.Len() >= maxAddresses {
		delete(f.byAddress, f.recent.Remove(f.recent.Back()).(*addressLimiter).address)
	}
	l := &addressLimiter{address, f.limit.limiter()}
	f.byAddress[address] = f.recent.PushFront(l)
	return l.limiter
}

// network is an IPv4 address, or the /64 of an IPv6 address, which has one owner.
// Addresses that are neither share one limiter.
func network(remote string) netip.Prefix {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := at.Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits) // the bits fit
	return p
}
