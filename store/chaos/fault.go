package chaos

import "time"

// Fault is what happens to one call. The zero Fault is none.
//
// Its parts combine: Fault{Before: time.Second, Outcome: Lost} is a slow call
// whose answer never comes.
type Fault struct {
	// Before is the delay before the store gets the call.
	Before time.Duration

	// Outcome says how far the call gets.
	Outcome Outcome

	// After is the delay before the caller gets the answer, or the error that
	// there is none.
	After time.Duration
}

// Outcome says how far a call gets.
type Outcome uint8

// The outcomes of a call. A call that hangs does so until its context ends, an
// outage starts or the store is closed, and is then ErrUnknown.
const (
	Answered     Outcome = iota // the store's own answer comes back
	Refused                     // it never reached the store: ErrUnavailable
	Lost                        // the store did it, the answer was lost: ErrUnknown
	HungUnheard                 // it hangs before the store gets it, and the store never does
	HungAnswered                // the store did it, and the answer hangs
)

// The faults without a delay. "Did it" includes that the store refused: with the
// answer lost, the caller cannot tell the two apart.
var (
	Unavailable    = Fault{Outcome: Refused}
	LostAnswer     = Fault{Outcome: Lost}
	Timeout        = Fault{Outcome: HungUnheard}
	TimeoutUnknown = Fault{Outcome: HungAnswered}
)

// Delay delays the call before the store gets it. If the context ends meanwhile,
// the store never gets it.
func Delay(d time.Duration) Fault { return Fault{Before: d} }

// LateAnswer delays the answer. If the context ends meanwhile, it is lost.
func LateAnswer(d time.Duration) Fault { return Fault{After: d} }
