package machine_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

// TestMain asks for longer runs than rapid's defaults; the command line still
// has the last word, since it is read later.
func TestMain(m *testing.M) {
	flag.Set("rapid.checks", "200")
	flag.Set("rapid.steps", "60")
	os.Exit(m.Run())
}

// world is a store as small as can be: rows, a clock, a counter of tokens, and
// every id that was ever used.
type world struct {
	now    machine.Instant
	token  uint64
	rows   map[string]machine.Row
	policy map[string]machine.Policy
	ids    []leasehold.ID
	last   call // the last change or transfer that was tried
}

func newWorld(policies map[string]machine.Policy) *world {
	w := &world{
		now:    machine.Instant{Clock: 5, Wall: 1_700_000_000_000},
		rows:   map[string]machine.Row{},
		policy: policies,
	}
	for name := range policies {
		w.rows[name] = machine.Row{Resource: name}
	}
	return w
}

// fresh is what the next grant would get.
func (w *world) fresh() machine.Fresh { return machine.Fresh{Token: w.token + 1, ID: w.newID()} }

// newID makes ids that nobody has used; calling it twice gives the same one.
func (w *world) newID() leasehold.ID {
	var id leasehold.ID
	binary.BigEndian.PutUint64(id[:], uint64(len(w.ids)+1))
	return id
}

// known is the row by which the store knows an id. Scoped ids are not known.
func (w *world) known(id leasehold.ID) *machine.Row {
	for _, name := range w.resources() {
		row := w.rows[name]
		if !row.Scoped && !id.IsZero() && (row.ID == id || row.Former == id) {
			return &row
		}
	}
	return nil
}

func (w *world) resources() []string { return slices.Sorted(maps.Keys(w.rows)) }

// keep writes an outcome down.
func (w *world) keep(o machine.Outcome) {
	w.rows[o.Row.Resource] = o.Row
	if n := len(o.Steps); n > 0 {
		w.rows[o.Row.Resource] = o.Steps[n-1].Row
	}
	if o.Granted {
		w.token = o.Row.Token
	}
	if !o.Row.ID.IsZero() && !slices.Contains(w.ids, o.Row.ID) {
		w.ids = append(w.ids, o.Row.ID)
	}
}

// wait lets time pass, often to the very edge of a lease's end.
func (w *world) wait(t *rapid.T) {
	jumps := []time.Duration{0, 1, time.Millisecond, time.Second, time.Minute, 25 * time.Hour}
	for _, name := range w.resources() {
		if row := w.rows[name].At(w.now); row.State.Locked() && row.Ends != machine.Never {
			end := time.Duration(row.Ends - w.now.Clock)
			jumps = append(jumps, end-1, end, end+1)
		}
	}
	jump := rapid.SampledFrom(jumps).Draw(t, "jump")
	w.now.Clock += machine.Time(jump)
	w.now.Wall += jump.Milliseconds()
}

// anyID draws an id worth trying: the right one more often than not, or one of
// every wrong kind.
func (w *world) anyID(t *rapid.T, row machine.Row, label string) leasehold.ID {
	choices := []leasehold.ID{row.ID, row.ID, row.ID, row.Former, row.Former, {}, w.newID()}
	for _, name := range w.resources() {
		choices = append(choices, w.rows[name].ID)
	}
	choices = append(choices, w.ids...)
	return choices[rapid.IntRange(0, len(choices)-1).Draw(t, label)]
}

var holders = []string{"ann", "bob", "cyd"}

// anyProof draws what a caller shows.
func (w *world) anyProof(t *rapid.T, row machine.Row) proof {
	return proof{
		id:     w.anyID(t, row, "id"),
		holder: rapid.SampledFrom([]string{"", "", row.Holder, row.Holder, holders[0]}).Draw(t, "holder"),
		token:  rapid.SampledFrom([]uint64{0, 0, row.Token, row.Token, w.token, w.token + 1}).Draw(t, "token"),
	}
}

var ttls = []time.Duration{time.Second, 15 * time.Second, time.Minute, 24 * time.Hour, leasehold.Infinite}

func anyTTL(t *rapid.T, also ...time.Duration) time.Duration {
	return rapid.SampledFrom(append(also, ttls...)).Draw(t, "ttl")
}

func anyMetadata(t *rapid.T) map[string]string {
	n := rapid.IntRange(-1, 2).Draw(t, "metadata")
	if n < 0 {
		return nil
	}
	return map[string]string{"n": fmt.Sprint(n)}
}
