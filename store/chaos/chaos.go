// Package chaos wraps a store and breaks the way to it: calls are delayed,
// refused, hang, or are carried out while their answer is lost. It is how the
// Manager's promises are tested, and how an application's can be.
//
// What goes wrong is said by a Policy, a function from a Call to a Fault.
// Policies keep no state and read only what stands in the Call (During and
// Switch, which are about moments, excepted), so a failing run can be repeated:
// the same calls of an operation, in the same order, meet the same faults,
// however they interleave with other operations.
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

// Options are the wrapper's. Nil is fine.
type Options struct {
	// Policy says what goes wrong. Default: nothing does.
	Policy Policy
}

// Store is a leasehold.Store with every optional power. It answers
// ErrUnsupported where the wrapped store lacks one.
type Store struct {
	mu     sync.Mutex
	inner  leasehold.Store
	policy Policy
	counts map[Op]int

	line   context.Context // between caller and store; ends when it is cut
	cut    context.CancelCauseFunc
	down   bool
	closed bool
	closes chan struct{} // closed by Close
}

var (
	errDown   = errors.New("the line to the store is down")
	errClosed = errors.New("the store is closed")
)

// Wrap returns a store that reaches the given one through faults. The wrapper
// owns it: Close closes it.
func Wrap(store leasehold.Store, opts *Options) *Store {
	s := &Store{inner: store, counts: map[Op]int{}, closes: make(chan struct{})}
	if opts != nil {
		s.policy = opts.Policy
	}
	s.line, s.cut = context.WithCancelCause(context.Background())
	return s
}

// SetPolicy replaces the policy for the calls to come and counts them anew:
// the next call of every operation has the number 1. Nil stops the faults.
// Calls under way keep the fault that they have met.
func (s *Store) SetPolicy(p Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policy = p
	clear(s.counts)
}

// SetDown begins or ends an outage. While the line is down calls are refused
// with ErrUnavailable and are not counted. At its beginning those under way are
// cut off, as by a broken connection: the store sees their context end, and
// their callers get ErrUnknown, whatever the store has made of them.
func (s *Store) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == down {
		return
	}
	if s.down = down; down {
		s.cut(errDown)
		return
	}
	s.line, s.cut = context.WithCancelCause(context.Background())
}

// Replace puts another store behind the wrapper and returns the one before,
// which the caller closes. Together with SetDown it is the restart of a
// backend: on the same data, on an older copy, or on nothing at all.
func (s *Store) Replace(store leasehold.Store) leasehold.Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.inner
	s.inner = store
	return old
}

// Calls returns how many calls of each operation have come through since the
// policy was set.
func (s *Store) Calls() map[Op]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Close closes the wrapped store and ends the calls that hang or are delayed.
// It meets no fault, and neither do later calls: a closed store gives its own
// answer.
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
