package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// aged opens a file in which a lease of two hours had just been taken, after
// changing what the file knows of the clocks, and returns how much of the lease
// has passed.
func aged(t *testing.T, change string) time.Duration {
	t.Helper()
	const ttl = 2 * time.Hour
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: ttl}); err != nil {
		t.Fatalf("Acquire() = %v", err)
	}
	s.Close()
	if change != "" {
		edit(t, path, "UPDATE lease_counters SET "+change)
	}
	status, err := newStore(t, path, nil).Status(t.Context(), "r")
	if err != nil || !status.Locked() {
		t.Fatalf("Status() = %+v, %v, want the lease", status.Lease, err)
	}
	return ttl - status.Lease.Remaining
}

// TestOldFileStartsWithNoTimePassed: a file of the first schema knows no boot.
func TestOldFileStartsWithNoTimePassed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	s := newStore(t, path, nil)
	g := mustAcquire(t, s, "r")
	s.Close()
	firstSchema(t, path)
	s = newStore(t, path, nil)
	l, err := s.Find(t.Context(), g.ID)
	if err != nil || l.Token != g.Token || l.Remaining > g.Remaining || l.Remaining < g.Remaining-time.Minute {
		t.Errorf("Find() in a file of the first schema = %+v, %v, want the lease with about %v left", l, err, g.Remaining)
	}
}
