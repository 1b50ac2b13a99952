// Package fence refuses work by holders that are no longer the newest.
//
// A lease alone is advice. Its holder may be paused, by garbage collection, a
// suspended machine or a slow network, after it checked that it still holds the
// lease and before its write arrives; by then another holder may have written.
// The fencing token prevents that: every grant of a resource carries a larger
// one, the holder sends it with each write, and the guard of the data refuses a
// token lower than the highest it has seen.
//
// So the check belongs where the data is, not where the holder is, and it must
// be one step with the write. Checker.Do holds a lock around both; SQL does the
// check inside the transaction that writes. A Check followed by a write that is
// not covered by the same lock or transaction proves nothing.
//
// Where a write depends on what was read before, the read must show the token
// too. Otherwise a new holder reads, the paused one writes with its old token,
// which is still the highest seen, and the new holder overwrites that.
package fence

import (
	"errors"
	"fmt"
)

// ErrStale means that a newer holder has been seen: the write must not happen
// and the caller, who has lost its lease, should stop. The error is a
// *StaleError.
var ErrStale = errors.New("stale fencing token")

// ErrToken means that a number is no token: zero, the value of an unset
// variable, or one above MaxToken, which would lock out every later holder.
var ErrToken = errors.New("not a fencing token")

// MaxToken is the largest token: stores keep theirs below 2^53.
const MaxToken = 1<<53 - 1

// StaleError names the refused token and the highest seen.
type StaleError struct {
	Resource string
	Token    uint64 // the one refused
	Seen     uint64 // the highest so far
}

// Error names both tokens.
func (e *StaleError) Error() string {
	return fmt.Sprintf("stale fencing token %d for %q: %d has been seen, so a newer holder is at work", e.Token, e.Resource, e.Seen)
}

// Is makes errors.Is(err, ErrStale) work.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

func checkToken(token uint64) error {
	if token == 0 || token > MaxToken {
		return fmt.Errorf("%w: %d; want 1 to %d", ErrToken, token, uint64(MaxToken))
	}
	return nil
}
