package local

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("the disk said no")

// disk is a journal whose content outlives the engine and whose failures are
// scripted. Unlike package memory's it keeps the rows, so it can be loaded.
type disk struct {
	mu       sync.Mutex
	state    JournalState
	rows     map[string]machine.Row
	records  []leasehold.Record
	extras   []engine.Statement
	commits  int
	clocks   []machine.Time
	slowness time.Duration // of each commit

	failCommit func(n int) fault // of the n-th commit, from 1
	failLoads  int               // how many loads fail from now on
	failReads  error
}

// fault is what happens to a commit.
type fault int

const (
	fine       fault = iota
	unwritten        // nothing reaches the disk
	unanswered       // it is written, but the answer is an error
)

func newDisk() *disk {
	return &disk{rows: map[string]machine.Row{}, state: JournalState{Settings: map[string]any{}}}
}

func (d *disk) Load(_ context.Context, each func(machine.Row) error) (JournalState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.failLoads > 0 {
		d.failLoads--
		return JournalState{}, errDisk
	}
	for _, name := range slices.Sorted(maps.Keys(d.rows)) {
		if err := each(d.rows[name]); err != nil {
			return JournalState{}, err
		}
	}
	s := d.state
	s.Settings = maps.Clone(s.Settings)
	return s, nil
}

func (d *disk) Commit(b *Batch) error {
	time.Sleep(d.slowness)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commits++
	f := fine
	if d.failCommit != nil {
		f = d.failCommit(d.commits)
	}
	if f == unwritten {
		return errDisk
	}
	d.write(b)
	if f == unanswered {
		return errDisk
	}
	return nil
}

func (d *disk) write(b *Batch) {
	seen := map[string]bool{}
	for _, c := range b.Rows {
		if seen[c.Resource] {
			panic("two changes of one row in a batch: " + c.Resource)
		}
		seen[c.Resource] = true
		if c.Gone {
			delete(d.rows, c.Resource)
		} else {
			d.rows[c.Resource] = c.Row
		}
	}
	d.records = append(d.records, b.Records...)
	d.extras = append(d.extras, b.Extras...)
	for _, s := range b.Settings {
		d.state.Settings[s.Key] = s.Value
	}
	d.state.Counters = b.Counters
	d.clocks = append(d.clocks, b.Clock)
}

func (d *disk) History(_ context.Context, q HistoryQuery) ([]leasehold.Record, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []leasehold.Record
	for _, r := range slices.Backward(d.records) {
		wanted := r.Seq > d.state.Purged && (q.Below == 0 || r.Seq < q.Below) &&
			(q.Resource == "" || q.Resource == r.Resource) && strings.HasPrefix(r.Resource, q.Prefix) &&
			(q.Kind == "" || q.Kind == r.Kind)
		if wanted && len(found) < q.Limit {
			found = append(found, r)
		}
	}
	return found, d.failReads
}

func (d *disk) PurgePoint(_ context.Context, before time.Time, keep int64) (uint64, int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	kept := slices.Clone(d.records)
	kept = slices.DeleteFunc(kept, func(r leasehold.Record) bool { return r.Seq <= d.state.Purged })
	n := max(0, len(kept)-int(keep))
	for n < len(kept) && kept[n].At.Before(before) {
		n++
	}
	if n == 0 {
		return 0, 0, d.failReads
	}
	return kept[n-1].Seq, n, d.failReads
}

func (d *disk) Close() error { return nil }

// kinds returns the kinds of the committed records of a resource, in order.
func (d *disk) kinds(resource string) (kinds []leasehold.Kind) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, r := range d.records {
		if r.Resource == resource {
			kinds = append(kinds, r.Kind)
		}
	}
	return kinds
}

// checkSeqs fails unless the committed records are numbered without a gap.
func (d *disk) checkSeqs(t *testing.T) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, r := range d.records {
		if r.Seq != uint64(i+1) {
			t.Fatalf("record %d has seq %d, want %d (%+v)", i, r.Seq, i+1, r)
		}
	}
}

// open starts an engine that ends with the test.
func open(t *testing.T, d *disk) *Engine {
	t.Helper()
	e, err := Open(t.Context(), d, nil)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// bubble runs the test on fake time, with an engine on an empty disk.
func bubble(t *testing.T, f func(t *testing.T, e *Engine, d *disk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		f(t, open(t, d), d)
	})
}

func acquire(t *testing.T, e *Engine, resource, holder string, ttl time.Duration) leasehold.Grant {
	t.Helper()
	g, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: resource, Holder: holder, TTL: ttl})
	if err != nil {
		t.Fatalf("Acquire(%q, %q) = %v", resource, holder, err)
	}
	return g
}

func release(t *testing.T, e *Engine, g leasehold.Grant) {
	t.Helper()
	if _, err := e.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
		t.Fatalf("Release(%q) = %v", g.Resource, err)
	}
}

// wait starts a Wait and returns where its answer will be.
func wait(ctx context.Context, e *Engine, r leasehold.AcquireRequest) <-chan answer {
	c := make(chan answer, 1)
	go func() {
		g, err := e.Wait(ctx, r)
		c <- answer{g, err}
	}()
	synctest.Wait()
	return c
}

func wantReason(t *testing.T, what string, err error, want leasehold.Reason) {
	t.Helper()
	if got := leasehold.ReasonOf(err); got != want {
		t.Fatalf("%s = %v (reason %q), want reason %q", what, err, got, want)
	}
}

// checkTable fails unless every index agrees with the rows.
func checkTable(t interface {
	Helper()
	Fatalf(string, ...any)
}, tb *table) {
	t.Helper()
	ids, due, ended, scoped, lapsed, live, callers := 0, 0, 0, 0, 0, 0, map[string]int{}
	sets, notes := 0, 0
	for name, e := range tb.rows {
		if e.row.Resource != name {
			t.Fatalf("row %q is filed under %q", e.row.Resource, name)
		}
		if !e.row.Scoped {
			ids++
			if tb.ids[e.row.ID] != e {
				t.Fatalf("row %q is not found by its id", name)
			}
		}
		if e.due >= 0 {
			due++
			if tb.due.At(int(e.due)) != e {
				t.Fatalf("row %q is not where it thinks in the heap", name)
			}
		}
		switch e.list {
		case &tb.ended:
			ended++
		case &tb.scoped:
			scoped++
		case &tb.lapsed:
			lapsed++
		}
		switch {
		case e.row.Claims == nil:
		case e.row.State.Locked():
			sets++
		default:
			notes++
		}
		if e.row.State.Locked() && e.list == nil {
			live++
			if e.row.Caller != "" {
				callers[e.row.Caller]++
			}
		}
	}
	if tb.live != live || !maps.Equal(tb.callers, callers) {
		t.Fatalf("%d live of %v are counted, want %d of %v", tb.live, tb.callers, live, callers)
	}
	if tb.claims.Len() != sets || tb.notes.Len() != notes {
		t.Fatalf("%d sets and %d with notes are indexed, want %d and %d", tb.claims.Len(), tb.notes.Len(), sets, notes)
	}
	for _, l := range []*list{&tb.ended, &tb.scoped, &tb.lapsed} {
		if l.len != l.count() {
			t.Fatalf("a list of %d says it has %d", l.count(), l.len)
		}
	}
	if tb.names.Len() != len(tb.rows) || tb.holders.Len() != len(tb.rows) {
		t.Fatalf("%d rows, %d by name, %d by holder", len(tb.rows), tb.names.Len(), tb.holders.Len())
	}
	if due != tb.due.Len() || ended != tb.ended.count() || scoped != tb.scoped.count() || lapsed != tb.lapsed.count() {
		t.Fatalf("due %d of %d, ended %d of %d, lapsed %d of %d", due, tb.due.Len(), ended, tb.ended.count(), lapsed, tb.lapsed.count())
	}
	tb.names.Ascend(func(e *entry) bool {
		if tb.rows[e.row.Resource] != e {
			t.Fatalf("the index by name has a stranger: %q", e.row.Resource)
		}
		return true
	})
	tb.holders.Ascend(func(e *entry) bool {
		if tb.rows[e.row.Resource] != e {
			t.Fatalf("the index by holder has a stranger: %q", e.row.Resource)
		}
		return true
	})
}

// inspect looks at the engine when everybody else is at rest.
func (e *Engine) inspect(look func()) {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	look()
}

func (l *list) count() (n int) {
	for e := l.head; e != nil; e = e.next {
		n++
	}
	return n
}
