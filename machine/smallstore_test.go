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

// smallStore is the smallest store: rows, a clock, a counter of tokens, and
// every id that was ever used.
type smallStore struct {
	now    machine.Instant
	token  uint64
	rows   map[string]machine.Row
	policy map[string]machine.Policy
	ids    []leasehold.ID
	last   call // the last change or transfer that was tried
}

func newSmallStore(policies map[string]machine.Policy) *smallStore {
	s := &smallStore{
		now:    machine.Instant{Clock: 5, Wall: 1_700_000_000_000},
		rows:   map[string]machine.Row{},
		policy: policies,
	}
	for name := range policies {
		s.rows[name] = machine.Row{Resource: name}
	}
	return s
}

// fresh is what the next grant would get.
func (s *smallStore) fresh() machine.Fresh { return machine.Fresh{Token: s.token + 1, ID: s.newID()} }

// newID makes ids that nobody has used; calling it twice gives the same one.
func (s *smallStore) newID() leasehold.ID {
	var id leasehold.ID
	binary.BigEndian.PutUint64(id[:], uint64(len(s.ids)+1))
	return id
}

// known is the row by which the store knows an id. Scoped ids are not known.
func (s *smallStore) known(id leasehold.ID) *machine.Row {
	for _, name := range s.resources() {
		row := s.rows[name]
		if !row.Scoped && !id.IsZero() && (row.ID == id || row.Former == id) {
			return &row
		}
	}
	return nil
}

func (s *smallStore) resources() []string { return slices.Sorted(maps.Keys(s.rows)) }

// apply stores an outcome.
func (s *smallStore) apply(o machine.Outcome) {
	s.rows[o.Row.Resource] = o.Row
	if n := len(o.Steps); n > 0 {
		s.rows[o.Row.Resource] = o.Steps[n-1].Row
	}
	if o.Granted {
		s.token = o.Row.Token
	}
	if !o.Row.ID.IsZero() && !slices.Contains(s.ids, o.Row.ID) {
		s.ids = append(s.ids, o.Row.ID)
	}
}

// wait lets time pass, often to the very edge of a lease's end.
func (s *smallStore) wait(t *rapid.T) {
	jumps := []time.Duration{0, 1, time.Millisecond, time.Second, time.Minute, 25 * time.Hour}
	for _, name := range s.resources() {
		if row := s.rows[name].At(s.now); row.State.Locked() && row.Ends != machine.Never {
			end := time.Duration(row.Ends - s.now.Clock)
			jumps = append(jumps, end-1, end, end+1)
		}
	}
	jump := rapid.SampledFrom(jumps).Draw(t, "jump")
	s.now.Clock += machine.Time(jump)
	s.now.Wall += jump.Milliseconds()
}

// anyID draws an id worth trying: the right one more often than not, or one of
// every wrong kind.
func (s *smallStore) anyID(t *rapid.T, row machine.Row, label string) leasehold.ID {
	choices := []leasehold.ID{row.ID, row.ID, row.ID, row.Former, row.Former, {}, s.newID()}
	for _, name := range s.resources() {
		choices = append(choices, s.rows[name].ID)
	}
	choices = append(choices, s.ids...)
	return choices[rapid.IntRange(0, len(choices)-1).Draw(t, label)]
}

var holders = []string{"ann", "bob", "cyd"}

// anyProof draws what a caller shows.
func (s *smallStore) anyProof(t *rapid.T, row machine.Row) proof {
	return proof{
		id:     s.anyID(t, row, "id"),
		holder: rapid.SampledFrom([]string{"", "", row.Holder, row.Holder, holders[0]}).Draw(t, "holder"),
		token:  rapid.SampledFrom([]uint64{0, 0, row.Token, row.Token, s.token, s.token + 1}).Draw(t, "token"),
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
