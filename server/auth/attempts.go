package auth

import (
	"container/list"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// maxAddresses bounds the memory of attempts; the address that was quiet for
// the longest is forgotten first.
const maxAddresses = 4096

// failures is how often an address may fail to show a valid token before it is
// told to wait. Secrets cannot be guessed at any rate: this keeps noise small.
var failures = limit{perSecond: 10, burst: 50}

// attempts counts the failures of each address.
type attempts struct {
	mu     sync.Mutex
	known  map[netip.Prefix]*list.Element
	recent list.List // of *attempt, the latest first
}

type attempt struct {
	from    netip.Prefix
	limiter *rate.Limiter
}

func newAttempts() *attempts {
	return &attempts{known: map[netip.Prefix]*list.Element{}}
}

// of returns the limiter of a remote address.
func (a *attempts) of(remote string) *rate.Limiter {
	from := network(remote)
	a.mu.Lock()
	defer a.mu.Unlock()
	if e, ok := a.known[from]; ok {
		a.recent.MoveToFront(e)
		return e.Value.(*attempt).limiter
	}
	if a.recent.Len() >= maxAddresses {
		delete(a.known, a.recent.Remove(a.recent.Back()).(*attempt).from)
	}
	one := &attempt{from, failures.limiter()}
	a.known[from] = a.recent.PushFront(one)
	return one.limiter
}

// network is an IPv4 address, or the /64 of an IPv6 address: whoever has one
// address of it has them all. Addresses that are neither share one place.
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
