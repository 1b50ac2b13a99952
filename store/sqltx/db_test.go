package sqltx

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/machine"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a DB without a disk. One lock makes its steps atomic.
type memoryDB struct {
	traits Traits

	mu      sync.Mutex
	rows    map[string]memoryRow
	token   uint64
	seq     uint64
	records []leasehold.Record
	control Control
	counted int // steps that counted
	closed  bool

	// fail, if set, is called before a step, swap or read, and may fail it; lose is
	// called after one, and may lose its answer. Both get the name of the method.
	fail, lose func(method string) error
	// late, if set, is called between a decision and its write.
	late func()
}

type memoryRow struct {
	machine.Row
	version int64
	waiting machine.Time
}

func newMemoryDB() *memoryDB {
	return &memoryDB{
		traits: Traits{Kind: "test"}, rows: map[string]memoryRow{},
		control: Control{Version: 1, Settings: map[string]any{}},
	}
}

func now() machine.Instant {
	t := time.Now()
	return machine.Instant{Clock: machine.Time(t.UnixNano()), Wall: t.UnixMilli()}
}

func (d *memoryDB) Traits() Traits { return d.traits }

func (d *memoryDB) Close() error {
	d.closed = true
	return nil
}

func call(hook func(string) error, method string) error {
	if hook == nil {
		return nil
	}
	return hook(method)
}

// locked runs f under the lock, unless a hook fails it.
func (d *memoryDB) locked(method string, f func() error) error {
	if err := call(d.fail, method); err != nil {
		return err
	}
	d.mu.Lock()
	err := f()
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return call(d.lose, method)
}

func (d *memoryDB) Step(ctx context.Context, n Need, decide func(Found) Write) (done Done, err error) {
	err = d.locked("step", func() error {
		for {
			f := d.find(n)
			w := decide(f)
			if d.late != nil {
				d.late()
			}
			if w.Until != 0 && now().Clock >= w.Until {
				continue
			}
			done = Done{Found: f, Now: now(), Asked: time.Now()}
			return d.write(w, f.Row.Resource, &done)
		}
	})
	return done, err
}

func (d *memoryDB) Read(ctx context.Context, n Need) (f Found, err error) {
	err = d.locked("read", func() error {
		f = d.find(n)
		return nil
	})
	return f, err
}

// byID finds a row by its id, or by its former one.
func (d *memoryDB) byID(id leasehold.ID) *memoryRow {
	var found *memoryRow
	for _, row := range d.rows {
		if row.ID == id {
			return &row
		}
		if row.Former == id {
			found = &row
		}
	}
	return found
}

func (d *memoryDB) find(n Need) Found {
	f := Found{Now: now(), Control: d.control, Row: machine.Row{Resource: n.Resource}}
	row, ok := d.rows[n.Resource]
	if n.Resource == "" && !n.ID.IsZero() {
		if found := d.byID(n.ID); found != nil {
			row, ok = *found, true
		}
	}
	if ok {
		f.Row, f.Version, f.Waiting = row.Row, row.version, row.waiting
	}
	if !n.Proposed.IsZero() {
		if found := d.byID(n.Proposed); found != nil {
			f.Known = &found.Row
		}
	}
	for _, row := range d.sorted() {
		live := row.At(f.Now).State.Locked()
		if n.Holder != "" && row.Holder == n.Holder && live || n.Due > len(f.Rows) && row.State.Locked() && !live {
			f.Rows = append(f.Rows, row.Row)
		}
		if n.Live && live {
			f.Live++
			if row.Caller == n.Caller {
				f.CallerLive++
			}
		}
	}
	if f.Counted = n.Live; n.Live {
		d.counted++
	}
	if n.Base {
		base := d.base()
		f.Base = &base
	}
	return f
}

func (d *memoryDB) sorted() []memoryRow {
	return slices.SortedFunc(maps.Values(d.rows), func(a, b memoryRow) int { return cmp.Compare(a.Resource, b.Resource) })
}

func (d *memoryDB) write(w Write, resource string, done *Done) error {
	if w.Clear > 0 {
		done.Cleared = min(w.Clear, len(d.rows))
		for i, row := range d.sorted() {
			if i < w.Clear {
				delete(d.rows, row.Resource)
			}
		}
	}
	delete(d.rows, w.Forget)
	d.token = max(d.token, w.Token)
	if w.Grant {
		d.token++
		done.Token = d.token
	}
	for i, row := range w.Rows {
		if w.Grant && i == len(w.Rows)-1 {
			row.Token = d.token
		}
		d.rows[row.Resource] = memoryRow{row, w.Version, d.rows[row.Resource].waiting}
	}
	for i, r := range w.Records {
		d.seq++
		if r.Seq = d.seq; w.Grant && r.Token == 0 {
			r.Token = d.token
		}
		if w.Kept[i] {
			d.records = append(d.records, r)
		}
	}
	if row, ok := d.rows[resource]; ok && w.Waiting != 0 {
		row.waiting = w.Waiting
		d.rows[resource] = row
	}
	d.writeControl(w)
	return nil
}

func (d *memoryDB) writeControl(w Write) {
	if len(w.Settings) == 0 && !w.ResetSettings && w.Purged == 0 && w.Mark == nil {
		return
	}
	next := d.control
	next.Version++
	next.Purged = max(next.Purged, w.Purged)
	next.Settings = maps.Clone(next.Settings)
	if w.ResetSettings {
		clear(next.Settings)
	}
	maps.Copy(next.Settings, w.Settings)
	if w.Mark != nil {
		next.Mark = *w.Mark
	}
	d.control = next
}

func (d *memoryDB) List(ctx context.Context, q ListQuery) (rows []machine.Row, at machine.Instant, err error) {
	at = now()
	err = d.locked("list", func() error {
		for _, row := range d.sorted() {
			if q.Resource != "" && row.Resource != q.Resource || !strings.HasPrefix(row.Resource, q.Prefix) || row.Resource <= q.After ||
				q.Holder != "" && row.Holder != q.Holder || q.Live && !row.At(at).State.Locked() || len(rows) == q.Limit {
				continue
			}
			rows = append(rows, row.Row)
		}
		return nil
	})
	return rows, at, err
}

func (d *memoryDB) Forget(ctx context.Context, age time.Duration, keep int64, n int) (forgotten int, err error) {
	err = d.locked("forget", func() error {
		for resource, row := range d.rows {
			if !row.State.Locked() && now().Clock-row.Ends > machine.Time(age) && forgotten < n {
				delete(d.rows, resource)
				forgotten++
			}
		}
		return nil
	})
	return forgotten, err
}

// history is all records.
func (d *memoryDB) history() []leasehold.Record {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.records)
}

// visible are the records that are not purged.
func (d *memoryDB) visible() []leasehold.Record {
	i, _ := slices.BinarySearchFunc(d.records, d.control.Purged+1, func(r leasehold.Record, seq uint64) int { return cmp.Compare(r.Seq, seq) })
	return d.records[i:]
}

func (d *memoryDB) Records(ctx context.Context, q RecordQuery) (records []leasehold.Record, err error) {
	records = []leasehold.Record{}
	err = d.locked("records", func() error {
		for _, r := range slices.Backward(d.visible()) {
			switch {
			case q.Below != 0 && r.Seq >= q.Below, q.Resource != "" && r.Resource != q.Resource, !strings.HasPrefix(r.Resource, q.Prefix),
				q.Holder != "" && r.Holder != q.Holder, q.Kind != "" && r.Kind != q.Kind,
				!q.Since.IsZero() && r.At.Before(q.Since), !q.Until.IsZero() && !r.At.Before(q.Until), len(records) == q.Limit:
				continue
			}
			records = append(records, r)
		}
		return nil
	})
	return records, err
}

func (d *memoryDB) After(ctx context.Context, seq uint64, n int) (records []leasehold.Record, oldest uint64, err error) {
	err = d.locked("after", func() error {
		for i, r := range d.visible() {
			if i == 0 {
				oldest = r.Seq
			}
			if r.Seq > seq && len(records) < n {
				records = append(records, r)
			}
		}
		return nil
	})
	return records, oldest, err
}

func (d *memoryDB) Last(ctx context.Context) (last uint64, err error) {
	err = d.locked("last", func() error {
		last = d.seq
		return nil
	})
	return last, err
}

func (d *memoryDB) PurgePoint(ctx context.Context, retention time.Duration, keep int64) (through uint64, n int, err error) {
	err = d.locked("purge-point", func() error {
		all := d.visible()
		for i, r := range all {
			if time.Since(r.At) > retention || int64(len(all)-i) > keep {
				through, n = r.Seq, i+1
			}
		}
		return nil
	})
	return through, n, err
}

func (d *memoryDB) DeletePurged(ctx context.Context, n int) (more bool, err error) {
	err = d.locked("delete-purged", func() error {
		d.records = d.visible()
		return nil
	})
	return false, err
}

func (d *memoryDB) base() Base {
	b := Base{Token: d.token, Records: d.seq > 0, Control: d.control}
	for _, row := range d.rows {
		if row.At(now()).State.Locked() {
			b.Live++
		} else {
			b.Ended++
		}
	}
	return b
}

func (d *memoryDB) Base(ctx context.Context) (b Base, err error) {
	err = d.locked("base", func() error {
		b = d.base()
		return nil
	})
	return b, err
}

// swappingDB also swaps and notifies.
type swappingDB struct {
	*memoryDB
	swaps, raced int

	listeners sync.Map
}

func newSwappingDB() *swappingDB { return &swappingDB{memoryDB: newMemoryDB()} }

func (d *swappingDB) Swap(ctx context.Context, s Swap) (done Done, err error) {
	err = d.locked("swap", func() error {
		if d.late != nil {
			d.late()
		}
		d.swaps++
		at, clash := now(), false
		for resource, row := range d.rows {
			clash = clash || resource != s.Resource && row.ID == s.Rows[0].ID || row.Former == s.Proposed && !s.Proposed.IsZero()
		}
		if clash || d.rows[s.Resource].version != s.Before || d.control.Version != s.Control ||
			at.Clock < s.From || s.Until != 0 && at.Clock >= s.Until {
			d.raced++
			return ErrRaced
		}
		done.Now, done.Asked = at, time.Now()
		freed := s.Rows[0].State != leasehold.StateActive && d.rows[s.Resource].waiting > at.Clock
		if freed {
			d.listeners.Range(func(_, f any) bool { f.(func(string))(s.Resource); return true })
		}
		return d.write(s.Write, s.Resource, &done)
	})
	return done, err
}

func (d *swappingDB) Notify(ctx context.Context, ready func(), freed func(string)) error {
	if err := call(d.fail, "notify"); err != nil {
		return err
	}
	key := new(int)
	d.listeners.Store(key, func(resource string) { go freed(resource) })
	defer d.listeners.Delete(key)
	ready()
	<-ctx.Done()
	return nil
}

var errTest = errors.New("by the test")
