package leasehold

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// The sentinels, for errors.Is. Every error of a Store and a Manager is an
// *Error that matches exactly one of them.
var (
	// ErrHeld is normal competition: another holder has the resource.
	ErrHeld = errors.New("held by another")
	// ErrLost is terminal: the lease has ended or may no longer be renewed.
	ErrLost = errors.New("lease lost")
	// ErrNotFound means that no lease is known by this id.
	ErrNotFound = errors.New("lease not found")
	// ErrForbidden means that the caller may not do this.
	ErrForbidden = errors.New("forbidden")
	// ErrInvalid means that the request breaks a rule; nothing was changed.
	ErrInvalid = errors.New("invalid argument")
	// ErrUnsupported means that the store cannot do what was requested.
	ErrUnsupported = errors.New("unsupported")
	// ErrTimeout means that a wait ended without a grant.
	ErrTimeout = errors.New("wait ended")
	// ErrUnavailable means that the store did not do it and may later.
	ErrUnavailable = errors.New("store unavailable")
	// ErrUnknown means that the answer was lost: it may have happened.
	ErrUnknown = errors.New("outcome unknown")
)

// Reason is the stable name of one case of refusal or failure. The JSON API
// sends it as "code".
type Reason string

// The reasons, grouped by the sentinel they match.
const (
	ReasonHeld     Reason = "lease_held"       // ErrHeld
	ReasonBreaking Reason = "lease_breaking"   // ErrHeld
	ReasonDeadlock Reason = "deadlock"         // ErrHeld
	ReasonIDInUse  Reason = "lease_id_in_use"  // ErrHeld: the proposed id is live elsewhere
	ReasonMissing  Reason = "lease_id_missing" // ErrHeld: a guarded write without the id

	ReasonExpired     Reason = "lease_expired"         // ErrLost
	ReasonReleased    Reason = "lease_released"        // ErrLost
	ReasonBroken      Reason = "lease_broken"          // ErrLost
	ReasonMaxRenewals Reason = "max_renewals_exceeded" // ErrLost

	ReasonNotFound      Reason = "lease_not_found"   // ErrNotFound
	ReasonIDMismatch    Reason = "lease_id_mismatch" // ErrNotFound: a guarded access with a foreign id
	ReasonNotPresent    Reason = "lease_not_present" // ErrNotFound: a guarded access with an id where no lease is
	ReasonTokenMismatch Reason = "token_mismatch"    // ErrNotFound: the id is right, the token is of another grant

	ReasonForbidden       Reason = "forbidden"       // ErrForbidden
	ReasonUnauthenticated Reason = "unauthenticated" // ErrForbidden
	ReasonHolderMismatch  Reason = "holder_mismatch" // ErrForbidden

	ReasonInvalid   Reason = "invalid_argument"       // ErrInvalid
	ReasonTooLarge  Reason = "too_large"              // ErrInvalid: the request has too many bytes
	ReasonMediaType Reason = "unsupported_media_type" // ErrInvalid: the body is not JSON

	ReasonUnsupported      Reason = "unsupported"       // ErrUnsupported
	ReasonBlockingDisabled Reason = "blocking_disabled" // ErrUnsupported: the queue is switched off

	ReasonTimeout    Reason = "acquire_timeout" // ErrTimeout
	ReasonSuperseded Reason = "superseded"      // ErrTimeout: another request took this waiter's place
	ReasonCancelled  Reason = "wait_cancelled"  // ErrTimeout: the caller's context ended the wait

	ReasonUnavailable Reason = "store_unavailable" // ErrUnavailable
	ReasonRateLimited Reason = "rate_limited"      // ErrUnavailable
	ReasonTooMany     Reason = "too_many_leases"   // ErrUnavailable: Field names the setting that is used up
	ReasonUnknown     Reason = "store_timeout"     // ErrUnknown
)

var sentinels = map[Reason]error{
	ReasonHeld: ErrHeld, ReasonBreaking: ErrHeld, ReasonDeadlock: ErrHeld,
	ReasonIDInUse: ErrHeld, ReasonMissing: ErrHeld,

	ReasonExpired: ErrLost, ReasonReleased: ErrLost, ReasonBroken: ErrLost, ReasonMaxRenewals: ErrLost,

	ReasonNotFound: ErrNotFound, ReasonIDMismatch: ErrNotFound,
	ReasonNotPresent: ErrNotFound, ReasonTokenMismatch: ErrNotFound,

	ReasonForbidden: ErrForbidden, ReasonUnauthenticated: ErrForbidden, ReasonHolderMismatch: ErrForbidden,

	ReasonInvalid: ErrInvalid, ReasonTooLarge: ErrInvalid, ReasonMediaType: ErrInvalid,

	ReasonUnsupported: ErrUnsupported, ReasonBlockingDisabled: ErrUnsupported,

	ReasonTimeout: ErrTimeout, ReasonSuperseded: ErrTimeout, ReasonCancelled: ErrTimeout,

	ReasonUnavailable: ErrUnavailable, ReasonRateLimited: ErrUnavailable, ReasonTooMany: ErrUnavailable,

	ReasonUnknown: ErrUnknown,
}

// Sentinel returns the sentinel that the reason matches. A reason this program
// does not know, from a newer server, matches ErrUnknown.
func (r Reason) Sentinel() error {
	if s, ok := sentinels[r]; ok {
		return s
	}
	return ErrUnknown
}

// Error is the one error type of stores and Manager.
type Error struct {
	Reason   Reason
	Op       string // "acquire", "renew", …
	Resource string
	Store    string // the store's kind, such as "sqlite"

	// Field and Problem explain ErrInvalid: which value, what is wrong with it
	// and what would be right. With ReasonTooMany they are a setting and its
	// value; Problem of ReasonUnavailable is why, if it is known.
	Field, Problem string

	// Current is the lease in the way, without its id.
	Current *Lease
	// Overlap is where the requested claims and those of Current meet, if either has
	// claims.
	Overlap *Overlap
	// Reserved is the holder for whom the resource is kept free: one that waits for
	// several, of which Current has another, or waits to have it exclusively.
	Reserved string
	// Cycle explains ReasonDeadlock: each holder waits for the next, the last for the
	// first.
	Cycle []WaitEdge
	// Waiting is how many waiters stand in the queue.
	Waiting int
	// RetryAfter is when another request may succeed; zero where unknown.
	RetryAfter time.Duration
	// Remaining is what is left of a break period.
	Remaining time.Duration
	// Waited is how long a wait lasted.
	Waited time.Duration

	// Cause is the error underneath, if any.
	Cause error
}

// Error says what happened, who is in the way until when, and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op)
		if e.Resource != "" {
			fmt.Fprintf(&b, " %.64q", e.Resource) // names may be long
		}
		b.WriteString(": ")
	}
	b.WriteString(e.message())
	if e.Cause != nil {
		fmt.Fprintf(&b, ": %v", e.Cause)
	}
	return b.String()
}

func (e *Error) message() string {
	switch e.Reason {
	case ReasonHeld:
		if e.Reserved != "" {
			return fmt.Sprintf("free, but kept for %.64q, who came first and waits for more", e.Reserved) + e.overlap() + e.queue() + e.retry()
		}
		return e.heldBy("held") + e.overlap() + e.queue() + e.retry()
	case ReasonDeadlock:
		return "to wait here would never end" + e.cycle() + "; release what you hold and begin again"
	case ReasonBreaking:
		if e.Current == nil {
			return fmt.Sprintf("the lease is being broken and ends in %v; finish the work, or try again to acquire it then", round(e.Remaining))
		}
		return e.heldBy("being broken, still held") + e.overlap() + e.queue() + e.retry()
	case ReasonMissing:
		return e.heldBy("held") + "; show its lease id to write"
	case ReasonInvalid:
		return e.Field + " " + e.Problem
	case ReasonForbidden:
		if e.Problem != "" { // a listener without tokens refuses what a web page could have sent
			return "the " + e.Field + " header " + e.Problem
		}
	case ReasonUnsupported:
		return strings.Replace("the "+e.Store+" store cannot do this; choose a store that can", "  ", " ", 1)
	case ReasonTimeout:
		return fmt.Sprintf("still held by another after waiting %v", round(e.Waited)) + e.overlap() + e.queue() + "; ask again, or wait longer"
	case ReasonUnavailable:
		if e.Problem != "" {
			return "the store is unavailable: " + e.Problem + "; nothing was changed, try again later"
		}
	case ReasonRateLimited:
		if e.RetryAfter <= 0 {
			return "too many requests; try again later"
		}
		return "too many requests" + e.retry()
	case ReasonTooMany:
		if e.Field == "namespace" {
			return "too many live leases in the namespace, at most " + e.Problem + "; release some, or divide the namespace"
		}
		return "too many live leases" + e.usedUp() + "; release some, or raise the setting"
	}
	s, ok := messages[e.Reason]
	switch {
	case !ok:
		return string(e.Reason)
	case e.Op != "break": // what follows is said to somebody who shows no id and wants no lease
		return s
	case e.Reason == ReasonNotFound:
		return "nobody holds it; there is nothing to break"
	case e.Reason.Sentinel() == ErrLost:
		what, _, _ := strings.Cut(s, ";")
		return what + "; there is nothing to break"
	}
	return s
}

// messages are those that do not depend on the error's fields.
var messages = map[Reason]string{
	ReasonIDInUse:          "the proposed lease id is in use; propose a new one",
	ReasonExpired:          "the lease has expired; acquire a new one with a new lease id",
	ReasonReleased:         "the lease was released; acquire a new one with a new lease id",
	ReasonBroken:           "the lease was broken; acquire a new one with a new lease id",
	ReasonMaxRenewals:      "the lease has used up its renewals; let it go and acquire a new one",
	ReasonNotFound:         "no lease is known by this id; acquire a new one",
	ReasonIDMismatch:       "the lease id shown is not that of the lease in the way; show the id of your own lease, or acquire one when this ends",
	ReasonNotPresent:       "a lease id was shown where no lease is; show none, or acquire first",
	ReasonTokenMismatch:    "the token sent is of another grant; send the token of the lease whose id you show, or none",
	ReasonTooLarge:         "the request is too large; send less",
	ReasonMediaType:        "the body is not what its Content-Type must say; send application/json",
	ReasonForbidden:        "the caller may not do this; ask an operator for a role that may",
	ReasonUnauthenticated:  "the caller is not known; send valid credentials",
	ReasonHolderMismatch:   "the holder sent does not hold this lease; send the holder that does, or none",
	ReasonBlockingDisabled: "waiting is switched off; ask without waiting, or switch " + SettingBlocking + " on",
	ReasonSuperseded:       "a newer request with the same lease id took this place in the queue; wait for that one's answer",
	ReasonCancelled:        "the caller ended the wait; ask again, with the same lease id to keep the place",
	ReasonUnavailable:      "the store is unavailable; nothing was changed, try again later",
	ReasonUnknown:          "the answer was lost; it may have happened, so ask again with the same lease id",
}

func (e *Error) heldBy(how string) string {
	if e.Current == nil {
		return how + " by another"
	}
	s := fmt.Sprintf("%s by %.64q (token %d)", how, e.Current.Holder, e.Current.Token)
	if e.Current.Remaining == Infinite {
		return s + " without an end"
	}
	return s + fmt.Sprintf(" for another %v", round(e.Current.Remaining))
}

// overlap says where the claims meet.
func (e *Error) overlap() string {
	if e.Overlap == nil {
		return ""
	}
	if part := e.Overlap.Part; part == e.Overlap.Requested.Pattern && part == e.Overlap.Held.Pattern {
		return fmt.Sprintf("; both claim %.64q", part)
	}
	return fmt.Sprintf("; %.64q overlaps with %.64q at %.64q", e.Overlap.Requested, e.Overlap.Held, e.Overlap.Part)
}

// maxShownEdges keeps the message of a long cycle readable; Cycle has all of it.
const maxShownEdges = 4

// cycle says who waits for whom.
func (e *Error) cycle() string {
	var b strings.Builder
	for i, w := range e.Cycle {
		if i == maxShownEdges {
			fmt.Fprintf(&b, ", and so on over %d holders", len(e.Cycle))
			break
		}
		fmt.Fprintf(&b, "%s %.64q waits for %.64q of %.64q", separate(i), w.Holder, w.Claim, w.HeldBy)
	}
	return b.String()
}

func separate(i int) string {
	if i == 0 {
		return ":"
	}
	return ","
}

func (e *Error) queue() string {
	if e.Waiting == 0 {
		return ""
	}
	return fmt.Sprintf("; %d waiting", e.Waiting)
}

// usedUp names the setting that allows no more.
func (e *Error) usedUp() string {
	if e.Field == "" {
		return ""
	}
	return strings.TrimSuffix(" ("+e.Field+" "+e.Problem, " ") + ")"
}

func (e *Error) retry() string {
	if e.RetryAfter <= 0 {
		return "; try again later, or wait for it"
	}
	return fmt.Sprintf("; try again in %v", round(e.RetryAfter))
}

// Is makes errors.Is work with the sentinels.
func (e *Error) Is(target error) bool { return target == e.Reason.Sentinel() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ReasonOf returns the Reason of the first *Error in err's tree, or "" if
// there is none.
func ReasonOf(err error) Reason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return ""
}

// Invalid makes the error for a value outside the rules.
func Invalid(field, problem string, args ...any) *Error {
	return &Error{Reason: ReasonInvalid, Field: field, Problem: fmt.Sprintf(problem, args...)}
}

// round keeps durations readable.
func round(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Millisecond)
}

// copyHolder copies who holds the resource, where claims meet and how many wait from
// an earlier answer.
func (e *Error) copyHolder(last error) {
	var l *Error
	if errors.As(last, &l) {
		e.Current, e.Overlap, e.Reserved, e.Waiting = l.Current, l.Overlap, l.Reserved, l.Waiting
	}
}

// asError returns err as the *Error that it is. Any other error comes from a
// store that broke its contract: what it did is unknown.
func asError(op, resource string, err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Reason: ReasonUnknown, Op: op, Resource: resource, Cause: err}
}

// lossError is the cause with which a lease's context ends when the store has
// said that the lease is gone. It keeps the store's reason and matches ErrLost.
func lossError(resource string, err error) *Error {
	e := *asError("hold", resource, err)
	if e.Reason.Sentinel() == ErrLost {
		return &e
	}
	if e.Cause == nil {
		e.Cause = ErrLost
	} else {
		e.Cause = fmt.Errorf("%w: %w", ErrLost, e.Cause)
	}
	return &e
}
