package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// records makes n records, a second apart, of ten resources and three holders.
func records(n int) []leasehold.Record {
	kinds := []leasehold.Kind{leasehold.KindAcquired, leasehold.KindRenewed, leasehold.KindReleased}
	var rs []leasehold.Record
	for i := range n {
		rs = append(rs, leasehold.Record{
			Seq: uint64(i + 1), At: start.Add(time.Duration(i) * time.Second), Kind: kinds[i%len(kinds)],
			Resource: fmt.Sprintf("pré/%d", i%10), Holder: fmt.Sprintf("holder'%d", i%3), Token: uint64(i),
			Before: leasehold.StateAvailable, After: leasehold.StateActive, Renewals: i,
		})
	}
	rs[0].Why, rs[0].Details = "because \"so\"", map[string]string{"from": "a<b", "π": "3"}
	return rs
}

func seqs(rs []leasehold.Record) []uint64 {
	got := []uint64{}
	for _, r := range rs {
		got = append(got, r.Seq)
	}
	return got
}

func mustHistory(t *testing.T, j *journal, q local.HistoryQuery) []leasehold.Record {
	t.Helper()
	rs, err := j.History(t.Context(), q)
	if err != nil {
		t.Fatalf("History(%+v) = %v", q, err)
	}
	return rs
}

func TestHistoryIsKept(t *testing.T) {
	j := newJournal(t, Options{})
	want := records(3)
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 1, Seq: 3}, Records: want})
	got := mustHistory(t, j, local.HistoryQuery{Limit: 10})
	if diff := cmp.Diff([]leasehold.Record{want[2], want[1], want[0]}, got); diff != "" {
		t.Errorf("History() (-want +got):\n%s", diff)
	}
}

func TestHistoryFilters(t *testing.T) {
	j := newJournal(t, Options{})
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 1, Seq: 30}, Records: records(30)})
	at := func(i int) time.Time { return start.Add(time.Duration(i-1) * time.Second) }
	for name, c := range map[string]struct {
		q    local.HistoryQuery
		want []uint64
	}{
		"limit":           {local.HistoryQuery{Limit: 2}, []uint64{30, 29}},
		"below":           {local.HistoryQuery{Below: 3, Limit: 9}, []uint64{2, 1}},
		"resource":        {local.HistoryQuery{Resource: "pré/4", Limit: 9}, []uint64{25, 15, 5}},
		"resource inside": {local.HistoryQuery{Resource: "pré", Limit: 9}, []uint64{}},
		"prefix":          {local.HistoryQuery{Prefix: "pré/4", Limit: 9}, []uint64{25, 15, 5}},
		"prefix wide":     {local.HistoryQuery{Prefix: "pré", Limit: 3}, []uint64{30, 29, 28}},
		"prefix none":     {local.HistoryQuery{Prefix: "prf", Limit: 3}, []uint64{}},
		"holder":          {local.HistoryQuery{Holder: "holder'1", Limit: 2}, []uint64{29, 26}},
		"kind":            {local.HistoryQuery{Kind: leasehold.KindReleased, Limit: 2}, []uint64{30, 27}},
		"since":           {local.HistoryQuery{Since: at(29), Limit: 9}, []uint64{30, 29}},
		"since between":   {local.HistoryQuery{Since: at(29).Add(1), Limit: 9}, []uint64{30}},
		"until":           {local.HistoryQuery{Until: at(3), Limit: 9}, []uint64{2, 1}},
		"until between":   {local.HistoryQuery{Until: at(3).Add(1), Limit: 9}, []uint64{3, 2, 1}},
		"all of them": {local.HistoryQuery{
			Resource: "pré/4", Prefix: "p", Holder: "holder'2", Kind: leasehold.KindReleased,
			Since: at(2), Until: at(20), Below: 25, Limit: 9,
		}, []uint64{15}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, seqs(mustHistory(t, j, c.q))); diff != "" {
				t.Errorf("History(%+v) (-want +got):\n%s", c.q, diff)
			}
		})
	}
}

func TestPurgePoint(t *testing.T) {
	j := newJournal(t, Options{})
	if through, n, err := j.PurgePoint(t.Context(), start.Add(time.Hour), 0); through != 0 || n != 0 || err != nil {
		t.Errorf("PurgePoint() of nothing = %d, %d, %v, want zeros", through, n, err)
	}
	rs := records(30)
	rs = append(rs[:10], rs[12:]...) // 11 and 12 were never kept
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 1, Seq: 30}, Records: rs})
	at := func(i int) time.Time { return start.Add(time.Duration(i-1) * time.Second) }
	type answer struct {
		Through uint64
		N       int
	}
	for name, c := range map[string]struct {
		before time.Time
		keep   int64
		want   answer
	}{
		"nothing":        {at(1), 100, answer{}},
		"old":            {at(5), 100, answer{4, 4}},
		"old, with gap":  {at(15), 100, answer{14, 12}},
		"many":           {at(1), 20, answer{8, 8}},
		"many, exactly":  {at(1), 28, answer{}},
		"many, with gap": {at(1), 15, answer{15, 13}},
		"both, old wins": {at(20), 20, answer{19, 17}},
		"all by age":     {at(99), 100, answer{30, 28}},
		"all by number":  {at(1), 0, answer{30, 28}},
	} {
		t.Run(name, func(t *testing.T) {
			through, n, err := j.PurgePoint(t.Context(), c.before, c.keep)
			if err != nil {
				t.Fatalf("PurgePoint() = %v", err)
			}
			if diff := cmp.Diff(c.want, answer{through, n}); diff != "" {
				t.Errorf("PurgePoint(%v, %d) (-want +got):\n%s", c.before, c.keep, diff)
			}
		})
	}
}

// TestPurgeHidesAtOnce: what is purged is hidden by the commit that says so,
// and deleted in steps by the commits after it.
func TestPurgeHidesAtOnce(t *testing.T) {
	j := newJournal(t, Options{Durability: DurabilityNormal})
	n := 3*dbfile.PurgeLimit + 10
	purged := uint64(3*dbfile.PurgeLimit + 5)
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 1, Seq: uint64(n)}, Records: records(n)})
	counters := local.Counters{Commit: 2, Seq: uint64(n), Purged: purged}
	mustCommit(t, j, &local.Batch{Counters: counters})
	if got := len(mustHistory(t, j, local.HistoryQuery{Limit: n})); got != 5 {
		t.Errorf("History() after the purge = %d records, want 5", got)
	}
	if through, n, err := j.PurgePoint(t.Context(), start, 2); through != purged+3 || n != 3 || err != nil {
		t.Errorf("PurgePoint() after the purge = %d, %d, %v, want %d, 3", through, n, err, purged+3)
	}
	var left []int64
	for range 5 {
		left = append(left, inFile(t, j, "SELECT count(*) FROM lease_history"))
		counters.Commit++
		mustCommit(t, j, &local.Batch{Counters: counters})
	}
	if diff := cmp.Diff([]int64{2*dbfile.PurgeLimit + 10, dbfile.PurgeLimit + 10, 10, 5, 5}, left); diff != "" {
		t.Errorf("records in the file, commit by commit (-want +got):\n%s", diff)
	}
	mustLoad(t, j)
	mustCommit(t, j, &local.Batch{Counters: counters})
	if got := len(mustHistory(t, j, local.HistoryQuery{Limit: n})); got != 5 {
		t.Errorf("History() after a load = %d records, want 5", got)
	}
}

// TestHistoryInSteps: a scan that is cut into steps finds what one in one piece
// does, while records come and go.
func TestHistoryInSteps(t *testing.T) {
	defer func(was time.Duration) { dbfile.ScanStep = was }(dbfile.ScanStep)
	dbfile.ScanStep = -1
	j := newJournal(t, Options{})
	const n = 3000
	all := records(n)
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Commit: 1, Seq: n}, Records: all})
	for name, q := range map[string]local.HistoryQuery{
		"nothing":        {Holder: "nobody", Limit: 10},
		"the oldest":     {Kind: leasehold.KindAcquired, Until: start.Add(1), Limit: 10},
		"a third":        {Holder: "holder'1", Limit: n},
		"some":           {Resource: "pré/7", Limit: 5},
		"from the midst": {Prefix: "pré/3", Below: 1500, Limit: 77},
	} {
		var want []uint64
		for _, r := range slices.Backward(all) {
			if (q.Holder == "" || r.Holder == q.Holder) && (q.Kind == "" || r.Kind == q.Kind) &&
				(q.Resource == "" || r.Resource == q.Resource) && strings.HasPrefix(r.Resource, q.Prefix) &&
				(q.Until.IsZero() || r.At.Before(q.Until)) && (q.Below == 0 || r.Seq < q.Below) && len(want) < q.Limit {
				want = append(want, r.Seq)
			}
		}
		if diff := cmp.Diff(want, seqs(mustHistory(t, j, q)), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: History() (-want +got):\n%s", name, diff)
		}
	}
	s := &dbfile.Scan{HistoryQuery: local.HistoryQuery{Holder: "nobody", Limit: 1}}
	steps := 0
	for ; !s.Done; steps++ {
		if err := j.read(t.Context(), &j.scanners, s.Step); err != nil {
			t.Fatal(err)
		}
	}
	if steps != n/512+1 {
		t.Errorf("a scan of %d records took %d steps, want one for each 512", n, steps)
	}
}

// TestScansLeaveReadersAlone: modules read their rows while every connection for
// scans is in use.
func TestScansLeaveReadersAlone(t *testing.T) {
	j := newJournal(t, Options{Modules: []engine.Module{toys}})
	for range scannerCount {
		conn, err := j.scanners.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer j.scanners.Put(conn)
	}
	if err := j.Query(t.Context(), "SELECT 1", nil, func(engine.Columns) error { return nil }); err != nil {
		t.Errorf("Query() beside scans = %v", err)
	}
}

// inFile reads one number from the file.
func inFile(t testing.TB, j *journal, sql string) (n int64) {
	t.Helper()
	err := j.read(context.Background(), &j.readers, func(conn *sqlite.Conn) (err error) {
		n, err = dbfile.QueryInt(conn, sql)
		return err
	})
	if err != nil {
		t.Fatalf("%s = %v", sql, err)
	}
	return n
}

func TestReadsEndWithTheirContext(t *testing.T) {
	j := newJournal(t, Options{})
	mustCommit(t, j, &local.Batch{Counters: local.Counters{Seq: 9}, Records: records(9)})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := j.History(ctx, local.HistoryQuery{Limit: 1}); !errors.Is(err, cause) {
		t.Errorf("History(ended context) = %v, want %v", err, cause)
	}
	if _, _, err := j.PurgePoint(ctx, start, 1); !errors.Is(err, cause) {
		t.Errorf("PurgePoint(ended context) = %v, want %v", err, cause)
	}
	if got := len(mustHistory(t, j, local.HistoryQuery{Limit: 1})); got != 1 {
		t.Errorf("History() afterwards = %d records, want 1", got)
	}
}

// TestReadsBesideCommits: readers see whole commits only, whatever the writer
// does meanwhile, and a load in between cuts them short without harm.
func TestReadsBesideCommits(t *testing.T) {
	j := newJournal(t, Options{Durability: DurabilityNormal})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 4)
	for range cap(done) {
		go func() {
			for ctx.Err() == nil {
				rs, err := j.History(ctx, local.HistoryQuery{Limit: 100})
				if err == nil && len(rs)%2 != 0 {
					done <- fmt.Errorf("History() = %d records, want an even number", len(rs))
					return
				}
			}
			done <- nil
		}()
	}
	for i := range uint64(60) {
		mustCommit(t, j, &local.Batch{
			Counters: local.Counters{Commit: i + 1, Seq: 2*i + 2},
			Rows:     []local.RowChange{{Row: machine.Row{Resource: "r", Token: i}}},
			Records:  []leasehold.Record{{Seq: 2*i + 1}, {Seq: 2*i + 2}},
		})
		if i%20 == 19 {
			mustLoad(t, j)
		}
	}
	cancel()
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
