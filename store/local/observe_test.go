package local

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
)

// commitLog keeps what an observer is told.
type commitLog struct {
	mu      sync.Mutex
	commits []Commit
}

func (l *commitLog) add(c Commit) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.commits = append(l.commits, c)
}

// empty returns what was told since the last time, without saves of the clock.
func (l *commitLog) empty() (commits []Commit) {
	synctest.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	commits, l.commits = l.commits, nil
	return slices.DeleteFunc(commits, func(c Commit) bool { return c.Changes == 0 })
}

// observed runs the test on fake time, with an engine whose commits are observed.
func observed(t *testing.T, f func(t *testing.T, e *Engine, d *disk, l *commitLog)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d, l := newDisk(), &commitLog{}
		e, err := Open(t.Context(), d, &Options{Observer: &Observer{Commit: l.add}})
		if err != nil {
			t.Fatalf("Open = %v", err)
		}
		t.Cleanup(func() { e.Close() })
		f(t, e, d, l)
	})
}

func wantCommits(t *testing.T, l *commitLog, want ...Commit) {
	t.Helper()
	if diff := cmp.Diff(want, l.empty(), cmpopts.EquateErrors()); diff != "" {
		t.Fatalf("commits (-want +got):\n%s", diff)
	}
}

// set changes a setting.
func set(t *testing.T, e *Engine, key string, value any) {
	t.Helper()
	if _, err := e.SetSetting(t.Context(), key, value); err != nil {
		t.Fatalf("SetSetting(%s) = %v", key, err)
	}
}

// TestCommitsAreObserved: each with its decisions and its time.
func TestCommitsAreObserved(t *testing.T) {
	observed(t, func(t *testing.T, e *Engine, d *disk, l *commitLog) {
		d.slowness = 30 * time.Millisecond
		first := acquire(t, e, "first", "a", time.Hour)
		wantCommits(t, l, Commit{Changes: 1, Took: d.slowness})
		var all sync.WaitGroup
		for i := range 6 { // the first of them is written alone, and the others join meanwhile
			all.Go(func() { acquire(t, e, fmt.Sprint("r", i), "a", time.Hour) })
			synctest.Wait()
		}
		all.Wait()
		wantCommits(t, l, Commit{Changes: 1, Took: d.slowness}, Commit{Changes: 5, Took: d.slowness})
		if _, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "first", Holder: "b"}); leasehold.ReasonOf(err) != leasehold.ReasonHeld {
			t.Fatalf("Acquire(held) = %v", err)
		}
		wantCommits(t, l) // a refusal writes nothing
		got := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "first", Holder: "b", TTL: time.Hour, Timeout: time.Minute})
		release(t, e, first)
		if a := <-got; a.err != nil {
			t.Fatalf("Wait = %v", a.err)
		}
		wantCommits(t, l, Commit{Changes: 2, Took: d.slowness}) // the release and the grant
		set(t, e, leasehold.SettingMaxLeases, 100)
		wantCommits(t, l, Commit{Changes: 1, Took: d.slowness})
		rows := engine.Decision{Extras: []engine.Statement{{SQL: "a"}, {SQL: "b"}}}
		if err := e.Do(t.Context(), "blob", func(engine.View) (engine.Decision, error) { return rows, nil }); err != nil {
			t.Fatalf("Do = %v", err)
		}
		wantCommits(t, l, Commit{Changes: 1, Took: d.slowness})
		d.mu.Lock()
		want := uint64(d.commits)
		d.mu.Unlock()
		if f := e.Figures(); f.Commits != want || f.CommitFailures != 0 || f.Unobserved != 0 {
			t.Errorf("Figures = %+v, want %d commits", f, want)
		}
	})
}

// TestFailedCommitsAreObserved, whether or not they are on the disk after all.
func TestFailedCommitsAreObserved(t *testing.T) {
	for _, how := range []fault{unwritten, unanswered} {
		observed(t, func(t *testing.T, e *Engine, d *disk, l *commitLog) {
			held := acquire(t, e, "held", "a", time.Hour)
			wantCommits(t, l, Commit{Changes: 1})
			d.mu.Lock()
			failing := d.commits + 1
			d.failCommit = func(n int) fault {
				if n == failing {
					return how
				}
				return fine
			}
			d.failLoads = 1
			d.mu.Unlock()
			_, err := e.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", TTL: time.Hour, ID: leasehold.NewID()})
			wantReason(t, "Acquire", err, leasehold.ReasonUnknown)
			time.Sleep(time.Second) // until it is loaded again
			wantCommits(t, l, Commit{Changes: 1, Err: errDisk})
			want := Figures{Leases: 1, HistoryRecords: 1, CommitFailures: 1}
			if how == unanswered {
				want.Leases, want.HistoryRecords = 2, 2
			}
			wantFigures(t, e, want)
			release(t, e, held)
			want.Leases--
			want.HistoryRecords++
			wantFigures(t, e, want)
		})
	}
}

// wantFigures compares all but the number of commits: how many saved the clock
// depends on the time.
func wantFigures(t *testing.T, e *Engine, want Figures) {
	t.Helper()
	synctest.Wait()
	got := e.Figures()
	got.Commits = 0
	want.Disk = DiskFigures{-1, -1, -1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("Figures (-want +got):\n%s", diff)
	}
}

// TestObserverIsSlow: commits and answers do not wait for it, and what it misses
// is counted. It may call the engine: no lock is held.
func TestObserverIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e *Engine
		d, told, resume := newDisk(), 0, make(chan struct{})
		e, err := Open(t.Context(), d, &Options{Observer: &Observer{Commit: func(Commit) {
			<-resume
			e.Figures()
			told++
		}}})
		if err != nil {
			t.Fatal(err)
		}
		const missed = 7
		started := time.Now()
		for i := range maxUnobserved + 1 + missed { // one of them is in the function
			set(t, e, leasehold.SettingMaxLeases, i+1)
			synctest.Wait()
		}
		if took := time.Since(started); took != 0 {
			t.Errorf("the commits took %v, want no wait for the observer", took)
		}
		if f := e.Figures(); f.Commits != maxUnobserved+1+missed || f.Unobserved != missed {
			t.Errorf("Figures = %+v, want %d commits, %d of them not observed", f, maxUnobserved+1+missed, missed)
		}
		close(resume)
		synctest.Wait()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if want := maxUnobserved + 2; told != want { // and the clock at the end
			t.Errorf("the observer was told of %d commits, want %d", told, want)
		}
	})
}

// TestFigures: live leases, waiters and records after each operation.
func TestFigures(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		want := Figures{}
		check := func(leases, waiters, records int) {
			t.Helper()
			want.Leases += leases
			want.Waiters += waiters
			want.HistoryRecords += int64(records)
			wantFigures(t, e, want)
		}
		check(0, 0, 0)
		a := acquire(t, e, "a", "h", time.Hour)
		check(+1, 0, +1)
		acquire(t, e, "b", "h", time.Minute)
		check(+1, 0, +1)
		ctx, cancel := context.WithCancel(t.Context())
		request := leasehold.AcquireRequest{Resource: "a", Holder: "w", TTL: time.Hour, Timeout: leasehold.NoTimeout}
		gone := wait(ctx, e, request)
		check(0, +1, 0)
		served := wait(t.Context(), e, request)
		check(0, +1, 0)
		request.ID = leasehold.NewID() // its position is reserved when it leaves
		late := request
		late.Timeout = time.Second
		overdue := wait(t.Context(), e, late)
		check(0, +1, 0)
		again := wait(t.Context(), e, late) // the same client: it replaces the request before
		wantReason(t, "Wait", (<-overdue).err, leasehold.ReasonSuperseded)
		check(0, 0, +1)
		wantReason(t, "Wait", (<-again).err, leasehold.ReasonTimeout)
		check(0, -1, 0)
		time.Sleep(5 * time.Second) // it does not come back
		check(0, 0, +1)
		cancel()
		wantReason(t, "Wait", (<-gone).err, leasehold.ReasonCancelled)
		check(0, -1, +1)
		release(t, e, a)
		if a := <-served; a.err != nil {
			t.Fatalf("Wait = %v", a.err)
		}
		check(0, -1, +2) // released and acquired
		time.Sleep(time.Minute)
		check(-1, 0, +1) // b has expired
		if n := d.written(); int64(n) != want.HistoryRecords {
			t.Errorf("%d records on the disk, want %d", n, want.HistoryRecords)
		}
		wait(t.Context(), e, leasehold.AcquireRequest{Resource: "a", Holder: "x", TTL: time.Hour, Timeout: leasehold.NoTimeout})
		check(0, +1, 0)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		check(0, -1, 0)
		want.Leases, want.Waiters = 1, 0
		wantFigures(t, open(t, d), want) // after a restart
	})
}

// TestCleanupsAreCounted: what runs removed, and only what is durable.
func TestCleanupsAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		set(t, e, leasehold.SettingCleanupInterval, 86_400)
		set(t, e, leasehold.SettingAutoExpire, false)
		set(t, e, leasehold.SettingHistoryRetention, 1)
		synctest.Wait()
		want := Figures{Cleanups: e.Figures().Cleanups, HistoryRecords: 3} // changed settings run one
		for i := range 3 {
			acquire(t, e, fmt.Sprint("r", i), "h", time.Minute)
		}
		release(t, e, acquire(t, e, "ended", "h", time.Minute))
		time.Sleep(Remembered + time.Minute)
		want.HistoryRecords += 5
		wantFigures(t, e, want)
		clean := func(expired, purged, forgotten int) {
			t.Helper()
			got, err := e.Cleanup(t.Context())
			if diff := cmp.Diff(leasehold.Cleaned{Expired: expired, HistoryPurged: purged, Forgotten: forgotten}, got); err != nil || diff != "" {
				t.Fatalf("Cleanup = %v (-want +got):\n%s", err, diff)
			}
			want.Cleanups++
			want.Cleaned.Expired += expired
			want.Cleaned.HistoryPurged += purged
			want.Cleaned.Forgotten += forgotten
			want.HistoryRecords += int64(expired - purged)
			if purged > 0 {
				want.HistoryRecords++ // the record of the purge
			}
			wantFigures(t, e, want)
		}
		clean(3, 0, 4) // their ends are long ago
		clean(0, 0, 0)
		runs := want.Cleanups
		time.Sleep(24*time.Hour - Remembered)
		want.Cleanups = e.Figures().Cleanups // the timer may have run one before anything was too old
		if want.Cleanups > runs+1 {
			t.Fatalf("%d runs in a day, want one", want.Cleanups-runs)
		}
		clean(0, 8, 0) // all but the three expiries
	})
}

// TestCleanupFails: what a failed commit would have removed is not counted,
// unless it is on the disk after all.
func TestCleanupFails(t *testing.T) {
	for _, how := range []fault{unwritten, unanswered} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			set(t, e, leasehold.SettingCleanupInterval, 86_400)
			set(t, e, leasehold.SettingAutoExpire, false)
			acquire(t, e, "r", "h", time.Minute)
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			runs := e.Figures().Cleanups
			d.mu.Lock()
			failing := d.commits + 1
			d.failCommit = func(n int) fault {
				if n == failing {
					return how
				}
				return fine
			}
			d.mu.Unlock()
			want := Figures{Cleanups: runs + 1, CommitFailures: 1, HistoryRecords: 3}
			_, err := e.Cleanup(t.Context())
			if how == unwritten {
				wantReason(t, "Cleanup", err, leasehold.ReasonUnavailable)
			} else if err != nil {
				t.Fatalf("Cleanup = %v", err)
			} else {
				want.Cleaned.Expired = 1
				want.HistoryRecords++
			}
			wantFigures(t, e, want)
			if _, err := e.Cleanup(t.Context()); err != nil {
				t.Fatalf("Cleanup = %v", err)
			}
			wantFigures(t, e, Figures{Cleanups: runs + 2, CommitFailures: 1, HistoryRecords: 4, Cleaned: leasehold.Cleaned{Expired: 1}})
		})
	}
}

// written is how many records were ever written.
func (d *disk) written() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.records)
}

// slowReader is a disk on which finding what to purge takes a second.
type slowReader struct{ *disk }

func (d slowReader) PurgePoint(ctx context.Context, before time.Time, keep int64) (uint64, int, error) {
	through, n, err := d.disk.PurgePoint(ctx, before, keep)
	time.Sleep(time.Second)
	return through, n, err
}

// TestPurgesAtOnce: clean-ups that come together purge, and count, each record
// once, also if one has found more than the other.
func TestPurgesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		e, err := Open(t.Context(), slowReader{d}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		for i := range 30 {
			acquire(t, e, fmt.Sprint("r", i), "h", 20*time.Hour)
		}
		e.mu.Lock() // not by a setting, which would start a run
		e.config, _, _, _ = e.config.With(leasehold.SettingHistoryMaxRows, 10)
		e.mu.Unlock()
		var all sync.WaitGroup
		var purged atomic.Int64
		for i := range 5 {
			all.Go(func() {
				c, err := e.Cleanup(t.Context())
				if err != nil {
					t.Errorf("Cleanup = %v", err)
				}
				purged.Add(int64(c.HistoryPurged))
			})
			time.Sleep(300 * time.Millisecond)
			acquire(t, e, fmt.Sprint("more", i), "h", 20*time.Hour)
		}
		all.Wait()
		page, err := e.History(t.Context(), leasehold.HistoryRequest{Limit: 500})
		if err != nil {
			t.Fatal(err)
		}
		kept := len(page.Records)
		gone := d.written() - kept
		f := e.Figures()
		if f.HistoryRecords != int64(kept) || f.Cleaned.HistoryPurged != gone || purged.Load() != int64(gone) || gone < 20 {
			t.Errorf("%d records are left, %d are not; Figures = %+v, the calls purged %d", kept, gone, f, purged.Load())
		}
	})
}

// TestPurgeUnderWay: what one purges that is not durable yet, the next does not
// find again.
func TestPurgeUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for i := range 10 {
			acquire(t, e, fmt.Sprint("r", i), "h", 20*time.Hour)
		}
		synctest.Wait()
		d.slowness = time.Second
		e.mu.Lock()
		e.config, _, _, _ = e.config.With(leasehold.SettingHistoryMaxRows, 3)
		e.mu.Unlock()
		if _, n, err := e.purgeThrough(0, 8, 8, time.Time{}); n != 8 || err != nil {
			t.Fatalf("purgeThrough = %d, %v", n, err)
		}
		if n, err := e.purge(t.Context()); n != 0 || err != nil {
			t.Errorf("purge beside another = %d, %v, want none", n, err)
		}
		wantFigures(t, e, Figures{Leases: 10, HistoryRecords: 3, Cleaned: leasehold.Cleaned{HistoryPurged: 8}})
	})
}

// TestRecordsThatAreNotKept cause no clean-up: they are not too many.
func TestRecordsThatAreNotKept(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		set(t, e, leasehold.SettingCleanupInterval, 86_400)
		set(t, e, leasehold.SettingHistoryRenewals, false)
		set(t, e, leasehold.SettingHistoryMaxRows, 10)
		synctest.Wait()
		runs := e.Figures().Cleanups
		g := acquire(t, e, "r", "h", time.Hour)
		for range 3 * minSurplus {
			if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
				t.Fatal(err)
			}
		}
		wantFigures(t, e, Figures{Leases: 1, HistoryRecords: 4, Cleanups: runs})
	})
}

// TestExpiriesAreCounted: also those whose resource a waiter gets at once.
func TestExpiriesAreCounted(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for i := range 3 {
			acquire(t, e, fmt.Sprint("r", i), "h", time.Minute)
		}
		got := wait(t.Context(), e, leasehold.AcquireRequest{Resource: "r1", Holder: "w", TTL: time.Hour, Timeout: leasehold.NoTimeout})
		e.inspect(func() {
			now := e.clock.now()
			now.Clock += e.table.due.First().row.Ends - now.Clock
			if n, more := e.expire(now); n != 3 || more {
				t.Errorf("expire = %d, %v, want 3 and no more", n, more)
			}
		})
		if a := <-got; a.err != nil {
			t.Errorf("Wait = %v", a.err)
		}
	})
}

// TestOutagesAreLogged: their start and their end, and no lease id.
func TestOutagesAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := newDisk()
		e, err := Open(t.Context(), d, &Options{Kind: "test", Logger: slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{
			ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			},
		}))})
		if err != nil {
			t.Fatal(err)
		}
		g := acquire(t, e, "r", "h", time.Hour)
		d.mu.Lock()
		failing := d.commits + 1
		d.failCommit = func(n int) fault {
			if n == failing {
				return unwritten
			}
			return fine
		}
		d.failLoads = 3
		d.mu.Unlock()
		_, err = e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID})
		wantReason(t, "Renew", err, leasehold.ReasonUnknown)
		time.Sleep(time.Minute)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		want := `level=ERROR msg="the store is unavailable: a commit failed" store=test error="the disk said no"
level=ERROR msg="the store cannot be loaded again yet; it is tried until it can" store=test error="the disk said no"
level=INFO msg="the store is available again" store=test after=70ms
`
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}
