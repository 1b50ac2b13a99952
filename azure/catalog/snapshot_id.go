package catalog

import (
	"strings"
	"time"
)

// Snapshot names one snapshot of a blob. The zero value names none, which is the
// blob itself. Every moment names a snapshot, the first of the year 1 too: no
// moment stands for "none".
type Snapshot struct {
	at    Ticks
	named bool
}

// At names the snapshot of that moment; Base names none.
func At(t Ticks) Snapshot {
	if t == Base {
		return Snapshot{}
	}
	return Snapshot{at: t, named: true}
}

// Ticks is the snapshot's moment, and Base for none.
func (s Snapshot) Ticks() Ticks {
	if !s.named {
		return Base
	}
	return s.at
}

const snapshotLayout = "2006-01-02T15:04:05.0000000Z"

// String returns the snapshot's id, and nothing for none.
func (s Snapshot) String() string {
	if !s.named {
		return ""
	}
	return s.at.Time().Format(snapshotLayout)
}

// ParseSnapshot reads the id of a snapshot, of the years 1 to 9999. Six
// fractional digits are read as seven with a zero at the end: some clients cut
// the last one off.
func ParseSnapshot(id string) (Snapshot, bool) {
	digits := id
	if len(id) == len(snapshotLayout)-1 && strings.HasSuffix(id, "Z") {
		digits = id[:len(id)-1] + "0Z"
	}
	t, err := time.Parse(snapshotLayout, digits)
	if err != nil || t.Year() < 1 || t.Format(snapshotLayout) != digits {
		return Snapshot{}, false
	}
	return At(TicksOf(t)), true
}
