package catalog

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// Ticks is a moment in 100 ns since the year 1. Azure counts so, and shows it:
// in ETags as hexadecimal digits, in snapshot ids as a date.
type Ticks int64

// Base is the snapshot number of what is not a snapshot.
const Base Ticks = 1<<63 - 1

// unixEpoch is 1970 in ticks.
const unixEpoch Ticks = 621_355_968_000_000_000

// TicksOf returns a time in ticks.
func TicksOf(t time.Time) Ticks {
	return unixEpoch + Ticks(t.Unix())*1e7 + Ticks(t.Nanosecond()/100)
}

// Time returns the ticks as a time.
func (t Ticks) Time() time.Time {
	since := int64(t - unixEpoch)
	return time.Unix(since/1e7, since%1e7*100).UTC()
}

// ETag returns the ticks as an ETag, with its quotes.
func (t Ticks) ETag() string {
	text := strconv.AppendUint(make([]byte, 0, len(`"0x0123456789ABCDEF"`)), uint64(t), 16)
	text = slices.Insert(text, 0, '"', '0', 'x')
	for i := 3; i < len(text); i++ {
		if text[i] >= 'a' {
			text[i] -= 'a' - 'A'
		}
	}
	return string(append(text, '"'))
}

// clock gives out moments, each later than the one before it, whatever the
// machine's clock does.
type clock struct{ last atomic.Int64 }

// after returns the present moment, or the one after t if that is later.
func (c *clock) after(t Ticks) Ticks {
	for {
		last := c.last.Load()
		next := max(int64(TicksOf(time.Now())), last+1, int64(t)+1)
		if c.last.CompareAndSwap(last, next) {
			return Ticks(next)
		}
	}
}
