package redis

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/test/process"
	"github.com/redis/go-redis/v9"
)

func set(t testing.TB, s *Store, key string, value any) {
	t.Helper()
	if _, err := s.SetSetting(t.Context(), key, value); err != nil {
		t.Fatalf("SetSetting(%s) = %v, want success", key, err)
	}
}

func tidy(t testing.TB, s *Store) {
	t.Helper()
	if _, err := s.tidy(t.Context()); err != nil {
		t.Fatalf("tidy = %v, want success", err)
	}
}

// The sweep keeps as many records as the setting says, and one record of what it
// dropped.
func TestSweepPurgesHistory(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Redis(t).Addr), nil)
	for range 10 {
		release(t, s, acquire(t, s, "r", "h", time.Minute).Lease)
	}
	set(t, s, leasehold.SettingHistoryMaxRows, 5)
	set(t, s, leasehold.SettingCleanupInterval, 1)
	var records []leasehold.Record
	process.Eventually(t, "the history is purged", func() bool {
		page, err := s.History(t.Context(), leasehold.HistoryRequest{})
		must(t, err)
		records = page.Records
		return len(records) <= 5
	})
	if purged := records[0]; purged.Kind != leasehold.KindPurged || purged.Details["through"] != fmt.Sprint(records[len(records)-1].Seq-1) {
		t.Errorf("the newest record = %+v, want that of the purge through %d", purged, records[len(records)-1].Seq-1)
	}
	tidy(t, s)
	page, err := s.History(t.Context(), leasehold.HistoryRequest{})
	if err != nil || len(page.Records) != len(records) {
		t.Errorf("a second sweep leaves %d records of %d, %v; want all", len(page.Records), len(records), err)
	}
}

// Old records go, too.
func TestSweepPurgesByAge(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, nil)
	acquire(t, s, "old", "h", time.Minute)
	set(t, s, leasehold.SettingHistoryRetention, 0)
	time.Sleep(2 * time.Millisecond)
	tidy(t, s)
	page, err := s.History(t.Context(), leasehold.HistoryRequest{})
	if err != nil || len(page.Records) != 1 || page.Records[0].Kind != leasehold.KindPurged || page.Records[0].Details["count"] != "2" {
		t.Errorf("History = %+v, %v; want the record of the purge alone", page.Records, err)
	}
}

// The list keeps no names of leases that ended by themselves.
func TestSweepTidiesNames(t *testing.T) {
	client := newClient(t, testserver.Redis(t).Addr)
	s := openOn(t, client, &Options{NoHistory: true})
	for i := range scanStep + 50 {
		acquire(t, s, fmt.Sprint("r", i), "h", time.Second)
	}
	live := acquire(t, s, "z", "h", time.Minute)
	time.Sleep(1100 * time.Millisecond)
	set(t, s, leasehold.SettingCleanupInterval, 1)
	process.Eventually(t, "one name is left", func() bool { return client.ZCard(t.Context(), s.keys.names).Val() == 1 })
	page, err := s.List(t.Context(), leasehold.ListRequest{})
	if err != nil || len(page.Leases) != 1 || page.Leases[0].Token != live.Token {
		t.Errorf("List = %+v, %v; want the live lease", page.Leases, err)
	}
}

// A list of more names than one step, most of which are filtered out.
func TestListSteps(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Redis(t).Addr), nil)
	for i := range 2*scanStep + 10 {
		holder := "h"
		if i%100 == 0 {
			holder = "rare"
		}
		acquire(t, s, fmt.Sprintf("r%04d", i), holder, time.Minute)
	}
	page, err := s.List(t.Context(), leasehold.ListRequest{Holder: "rare"})
	if err != nil || len(page.Leases) != 5 {
		t.Errorf("List = %d leases, %v; want 5", len(page.Leases), err)
	}
	records, err := s.History(t.Context(), leasehold.HistoryRequest{Holder: "rare"})
	if err != nil || len(records.Records) != 5 {
		t.Errorf("History = %d records, %v; want 5", len(records.Records), err)
	}
}

// Cleanup does at once what the sweep would do, and says what it did.
func TestCleanup(t *testing.T) {
	for name, client := range map[string]redis.UniversalClient{
		"one server": newClient(t, testserver.Redis(t).Addr), "cluster": newClusterClient(t, startCluster(t)),
	} {
		t.Run(name, func(t *testing.T) {
			s := openOn(t, client, nil)
			set(t, s, leasehold.SettingAutoExpire, false) // or the sweep is faster
			for i := range 3 {
				acquire(t, s, fmt.Sprint("r", i), "h", time.Second)
			}
			live := acquire(t, s, "live", "h", time.Minute)
			time.Sleep(1100 * time.Millisecond)
			set(t, s, leasehold.SettingHistoryMaxRows, 4)
			cleaned, err := s.Cleanup(t.Context())
			want := leasehold.Cleaned{Expired: 3}
			if s.recording {
				want.HistoryPurged = 6 // of 4 grants, 2 settings and 3 ends, so that 3 and the purge are left
			}
			if err != nil || cleaned != want {
				t.Errorf("Cleanup = %+v, %v; want %+v", cleaned, err, want)
			}
			if again, err := s.Cleanup(t.Context()); err != nil || again != (leasehold.Cleaned{}) {
				t.Errorf("Cleanup again = %+v, %v; want nothing left to do", again, err)
			}
			release(t, s, live.Lease)
		})
	}
}
