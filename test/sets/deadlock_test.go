package sets_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold/internal/soak"
)

// TestDeadlocks: among holders whose requests are one sequence of work, a wait or a
// transfer that would close a cycle is refused at once, and so is a wait that a later
// grant closes; after each step nobody waits for itself, over however many others. Of
// holders without a sequence nothing is refused. Sets, modes, reservations, priorities
// and absent clients take part.
func TestDeadlocks(t *testing.T) {
	found := 0
	checkInBubble(t, func(t *rapid.T) {
		d := newDriver(t)
		d.operations = []string{
			"acquire", "acquire", "wait", "wait", "wait", "wait", "wait", "resume", "modes", "modes", "modes",
			"transfer", "transfer", "release", "cancel", "break",
		}
		d.pauses = []int{0, 0, 0, 0, 0, 0, 1, 2}
		d.several = rapid.Bool().Draw(t, "several waits of a holder")
		for _, holder := range holders {
			d.sequence[holder] = rapid.IntRange(0, 3).Draw(t, holder+" without sequence") > 0
		}
		d.run(t, soak.Rounds(40, 44))
		found += d.deadlocks
	})
	if found == 0 {
		t.Error("no history had a deadlock; the test has shown nothing")
	}
}

// verifyNoCycle expects that no holder waits for itself, by the closure of who waits
// for whom.
func (d *driver) verifyNoCycle() {
	d.Helper()
	waits := d.m.graph(nil, "")
	for _, via := range holders {
		for _, from := range holders {
			for _, to := range holders {
				if waits[[2]string{from, via}] && waits[[2]string{via, to}] {
					waits[[2]string{from, to}] = true
				}
			}
		}
	}
	for _, holder := range holders {
		if waits[[2]string{holder, holder}] {
			d.fail("%s waits for itself", holder)
		}
	}
}
