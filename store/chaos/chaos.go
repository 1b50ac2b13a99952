// Package chaos wraps a store and injects faults: calls are delayed, refused,
// hang, or are carried out while their answer is lost. The Manager's promises are
// tested with it, and an application's can be.
//
// A Policy, a function from a Call to a Fault, decides what goes wrong. Policies
// keep no state and read only the Call (except During and Switch, which depend on
// time), so a failing run can be repeated: the same calls of an operation, in the
// same order, meet the same faults, however they interleave with other operations.
//
//	flaky := chaos.Wrap(store, &chaos.Options{Policy: chaos.First(
//		chaos.Only(chaos.Between(3, 7, chaos.Unavailable), chaos.OpRenew),
//		chaos.WithProbability(42, 0.05, chaos.LostAnswer),
//	)})
//
// Without a policy the wrapper is transparent. All waiting is done with the
// time package, so that it works in testing/synctest bubbles.
package chaos

import (
	"context"
	"errors"
	"maps"
	"sync"

	"github.com/leasehold/leasehold"
)

// Options configure the wrapper. Nil is fine.
type Options struct {
	// Policy decides what goes wrong. Default: nothing.
	Policy Policy
}

// Store is a leasehold.Store with every optional power. It answers
// ErrUnsupported where the wrapped store lacks one.
type Store struct {
	mu     sync.Mutex
	inner  leasehold.Store
	policy Policy
	counts map[Op]int

	connection context.Context // to the store; ends with an outage
	disconnect context.CancelCauseFunc
	down       bool
	closed     bool
	closes     chan struct{} // closed by Close
}

var (
	errDown   = errors.New("the line to the store is down")
	errClosed = errors.New("the store is closed")
)

// Wrap returns a store that injects faults into calls of the given one. The
// wrapper owns it: Close closes it.
func Wrap(store leasehold.Store, opts *Options) *Store {
	s := &Store{inner: store, counts: map[Op]int{}, closes: make(chan struct{})}
	if opts != nil {
		s.policy = opts.Policy
	}
	s.connection, s.disconnect = context.WithCancelCause(context.Background())
	return s
}

// SetPolicy replaces the policy for the calls to come and counts them anew:
// the next call of every operation has the number 1. Nil stops the faults.
// Calls under way keep their fault.
func (s *Store) SetPolicy(p Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
	clear(s.counts)
}

// SetDown starts or ends an outage. During it calls are refused with
// ErrUnavailable and are not counted. Its start ends the calls under way, like a
// broken connection: the store sees their context end, and their callers get
// ErrUnknown, whether or not the store has done them.
func (s *Store) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == down {
		return
	}
	if s.down = down; down {
		s.disconnect(errDown)
		return
	}
	s.connection, s.disconnect = context.WithCancelCause(context.Background())
}

// Replace wraps another store instead and returns the one before, which the
// caller closes. Together with SetDown it is the restart of a backend: on the same
// data, on an older copy, or on nothing.
func (s *Store) Replace(store leasehold.Store) leasehold.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.inner
	s.inner = store
	return old
}

// Calls returns how many calls of each operation were made since the policy was
// set.
func (s *Store) Calls() map[Op]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Close closes the wrapped store and ends the calls that hang or are delayed.
// Neither Close nor later calls meet a fault: a closed store answers itself.
func (s *Store) Close() error {
	s.mu.Lock()
	if !s.closed {
		close(s.closes)
	}
	s.closed = true
	inner := s.inner
	s.mu.Unlock()
	return inner.Close()
}

func (s *Store) current() leasehold.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inner
}
