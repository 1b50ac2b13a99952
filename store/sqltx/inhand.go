package sqltx

import (
	"time"

	"github.com/leasehold/leasehold/machine"
)

// inHand is a row as it was written.
type inHand struct {
	row     machine.Row
	version int64
	now     machine.Instant // the database's time then
}

// estimate is the database's time now, or somewhat less: a drift of a thousandth is
// allowed for.
func (h inHand) estimate(age time.Duration) machine.Instant {
	age = max(0, age)
	age -= age / 1000
	age = age.Truncate(time.Microsecond)
	return machine.Instant{Clock: h.now.Clock + machine.Time(age), Wall: h.now.Wall + age.Milliseconds()}
}
