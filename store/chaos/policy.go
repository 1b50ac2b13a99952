package chaos

import (
	"hash/fnv"
	"slices"
	"sync/atomic"
	"time"
)

// Op names an operation of a store.
type Op string

// The operations, one for each method but Close.
const (
	OpAcquire       Op = "acquire"
	OpRenew         Op = "renew"
	OpRelease       Op = "release"
	OpStatus        Op = "status"
	OpWait          Op = "wait"
	OpBreak         Op = "break"
	OpChange        Op = "change"
	OpTransfer      Op = "transfer"
	OpFind          Op = "find"
	OpList          Op = "list"
	OpReleaseHolder Op = "release_holder"
	OpHistory       Op = "history"
	OpCleanup       Op = "cleanup"
	OpSettings      Op = "settings"
	OpSetSetting    Op = "set_setting"
	OpBackup        Op = "backup"
	OpWatch         Op = "watch"
	OpWaits         Op = "waits"
)

// Call is one call of the store.
type Call struct {
	Op       Op
	N        int    // counted for each Op from 1, in the order of arrival
	Resource string // where the call names one
	Holder   string // where the call names one
}

// Policy decides what happens to a call. Any function is a policy. It is called
// concurrently and without a lock, so it may change the store's policy.
type Policy func(Call) Fault

// Always meets every call with the fault.
func Always(f Fault) Policy { return func(Call) Fault { return f } }

// Between meets the calls from the first-th to the last-th of each operation,
// both included.
func Between(first, last int, f Fault) Policy {
	return when(func(c Call) bool { return first <= c.N && c.N <= last }, f)
}

// Every meets each n-th call of each operation: with 3, the third, the sixth
// and so on; with 0, none.
func Every(n int, f Fault) Policy {
	return when(func(c Call) bool { return n > 0 && c.N%n == 0 }, f)
}

// WithProbability meets a share p of the calls of each operation, 0 for none
// and 1 for all. Which ones depends on the seed, the operation and the call's
// number alone. Policies that stand side by side want different seeds:
// otherwise they pick the same calls.
func WithProbability(seed uint64, p float64, f Fault) Policy {
	return when(func(c Call) bool { return draw(seed, c) < p }, f)
}

// Only keeps a policy to the operations named.
func Only(p Policy, ops ...Op) Policy {
	return func(c Call) Fault {
		if slices.Contains(ops, c.Op) {
			return p(c)
		}
		return Fault{}
	}
}

// First is the fault of the first policy that has one.
func First(policies ...Policy) Policy {
	return func(c Call) Fault {
		for _, p := range policies {
			if f := p(c); f != (Fault{}) {
				return f
			}
		}
		return Fault{}
	}
}

// During keeps a policy to the calls that are made from one moment until just
// before another. Calls that are then under way go on; Store.SetDown ends them,
// too.
func During(from, until time.Time, p Policy) Policy {
	return func(c Call) Fault {
		if now := time.Now(); now.Before(from) || !now.Before(until) {
			return Fault{}
		}
		return p(c)
	}
}

// Switch turns a policy on and off while calls are made. It starts off.
type Switch struct{ on atomic.Bool }

// Set turns the switch on or off.
func (s *Switch) Set(on bool) { s.on.Store(on) }

// While keeps a policy to the calls that are made while the switch is on.
func (s *Switch) While(p Policy) Policy {
	return func(c Call) Fault {
		if s.on.Load() {
			return p(c)
		}
		return Fault{}
	}
}

func when(met func(Call) bool, f Fault) Policy {
	return func(c Call) Fault {
		if met(c) {
			return f
		}
		return Fault{}
	}
}

// draw returns a number in [0, 1) that is the same for the same seed,
// operation and number. A generator with a state would give the same numbers
// to other calls as soon as goroutines race for them.
func draw(seed uint64, c Call) float64 {
	h := fnv.New64a()
	h.Write([]byte(c.Op))
	x := mix(mix(seed) ^ h.Sum64() ^ mix(uint64(c.N)))
	return float64(x>>11) / (1 << 53)
}

// mix is the finalizer of splitmix64: similar numbers become unrelated ones.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
