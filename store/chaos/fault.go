package chaos

import "time"

// Fault is what happens to one call. The zero Fault is none.
//
// Its parts combine: Fault{Before: time.Second, Outcome: Lost} is a slow call
// whose answer never comes.
type Fault struct {
	// Before is how long the call takes to reach the store.
	Before time.Duration

	// Outcome says how far the call gets.
	Outcome Outcome

	// After is how long the answer, or the news that there is none, takes to
	// come back.
	After time.Duration
}

// Outcome says how far a call gets.
type Outcome uint8

// The outcomes of a call. A call that hangs does so until its context ends,
// the line is cut or the store is closed, and is then ErrUnknown.
const (
	Answered     Outcome = iota // the store's own answer comes back
	Refused                     // it never reached the store: ErrUnavailable
	Lost                        // the store did it, the answer was lost: ErrUnknown
	HungUnheard                 // it hangs on its way to the store, which never hears of it
	HungAnswered                // the store did it, and the answer hangs on its way back
)

// The faults without a length. "Did it" includes that the store refused: with
// the answer lost, the caller cannot tell the two apart.
var (
	Unavailable    = Fault{Outcome: Refused}
	LostAnswer     = Fault{Outcome: Lost}
	Timeout        = Fault{Outcome: HungUnheard}
	TimeoutUnknown = Fault{Outcome: HungAnswered}
)

// Delay holds the call up on its way to the store. If the context ends
// meanwhile, the store never hears of the call.
func Delay(d time.Duration) Fault { return Fault{Before: d} }

// LateAnswer holds the answer up on its way back. If the context ends
// meanwhile, it is lost.
func LateAnswer(d time.Duration) Fault { return Fault{After: d} }
