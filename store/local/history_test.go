package local

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
)

func TestHistoryNeedsItsJournal(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		d.set(func(d *disk) { d.failReads = errDisk })
		_, err := e.History(t.Context(), leasehold.HistoryRequest{})
		wantReason(t, "History", err, leasehold.ReasonUnavailable)
		_, err = e.Cleanup(t.Context())
		wantReason(t, "Cleanup", err, leasehold.ReasonUnavailable)
		_, err = e.History(t.Context(), leasehold.HistoryRequest{Cursor: lists.CursorOf("h", "x")})
		wantReason(t, "History", err, leasehold.ReasonInvalid)
	})
}

// The history is purged without waiting for the sweep when it outgrows its
// limit, and a purge leaves one record.
func TestHistoryIsBoundedBetweenSweeps(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		for key, value := range map[string]any{leasehold.SettingHistoryMaxRows: 10, leasehold.SettingCleanupInterval: 86400} {
			if _, err := e.SetSetting(t.Context(), key, value); err != nil {
				t.Fatal(err)
			}
		}
		g := acquire(t, e, "r", "a", time.Hour)
		for range 3000 {
			if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		page, err := e.History(t.Context(), leasehold.HistoryRequest{Limit: 1000, Kind: leasehold.KindRenewed})
		if err != nil || len(page.Records) > 1020 || page.Cursor != "" && len(page.Records) == 0 {
			t.Errorf("%d renewals kept, want about a thousand at most (%v)", len(page.Records), err)
		}
		if kept := e.seq - e.purged; kept > 1020 {
			t.Errorf("%d records kept", kept)
		}
	})
}

// The record of a purge does not make the next purge.
func TestPurgeOfNothingButAPurge(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		if _, err := e.SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, 0); err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		if n := len(d.records); n > 3 {
			t.Errorf("%d records of an idle day, want the setting's and one purge", n)
		}
	})
}

// Nor does it push out what is worth more: a history at its limit stays as it is
// while nothing happens.
func TestPurgeLeavesAFullHistoryAlone(t *testing.T) {
	for _, limit := range []int{1, 2, 10} {
		bubble(t, func(t *testing.T, e *Engine, d *disk) {
			if _, err := e.SetSetting(t.Context(), leasehold.SettingHistoryMaxRows, int64(limit)); err != nil {
				t.Fatal(err)
			}
			for i := range 30 {
				acquire(t, e, fmt.Sprint("r", i), "a", 20*time.Hour)
			}
			time.Sleep(time.Hour)
			synctest.Wait()
			before := e.seq
			time.Sleep(10 * time.Hour)
			synctest.Wait()
			page, err := e.History(t.Context(), leasehold.HistoryRequest{})
			if err != nil || len(page.Records) != limit || e.seq != before {
				t.Errorf("limit %d: an idle store has %d records and wrote %d, want %d and none (%v)", limit, len(page.Records), e.seq-before, limit, err)
			}
		})
	}
}

// A clean-up that finds another one's purge under way answers when that is
// durable.
func TestCleanupWaitsForAPurgeUnderWay(t *testing.T) {
	bubble(t, func(t *testing.T, e *Engine, d *disk) {
		acquire(t, e, "r", "a", time.Hour)
		synctest.Wait()
		e.mu.Lock()
		through := e.seq
		e.mu.Unlock()
		first, n, err := e.purgeThrough(0, through, 1, time.Time{})
		second, again, err2 := e.purgeThrough(0, through, 1, time.Time{})
		if err != nil || err2 != nil || n != 1 || again != 0 || first == nil || second != first {
			t.Errorf("purgeThrough = %p, %d, %v, then %p, %d, %v; want the same batch to wait for", first, n, err, second, again, err2)
		}
	})
}

// lowDisk is a disk that may be full.
type lowDisk struct {
	*disk
	low atomic.Bool
}

func (d *lowDisk) LowOnSpace() bool { return d.low.Load() }

// TestHistoryOnAFullDisk: while space is low, new records replace the oldest.
func TestHistoryOnAFullDisk(t *testing.T) {
	bubble(t, func(t *testing.T, first *Engine, d *disk) {
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		full := &lowDisk{disk: d}
		e, err := Open(context.Background(), full, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		write := func(n int) (most int) {
			g := acquire(t, e, "r"+strings.Repeat("x", n%7), "h", time.Hour)
			for range n {
				if _, err := e.Renew(t.Context(), leasehold.RenewRequest{ID: g.ID}); err != nil {
					t.Fatal(err)
				}
				e.inspect(func() { most = max(most, int(e.seq-e.purged)) })
			}
			release(t, e, g)
			return most
		}
		write(5000)
		full.low.Store(true)
		if most := write(6000); most > 5000+minSurplus {
			t.Errorf("up to %d records while space is low, 5000 when it began; want no more than a few beyond", most)
		}
		full.low.Store(false)
		if most := write(6000); most < 9000 {
			t.Errorf("only %d records when there is room again, want them kept", most)
		}
	})
}
