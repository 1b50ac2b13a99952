package open_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/store/local"
)

// TestObserver: embedded stores tell of their commits, and have figures.
func TestObserver(t *testing.T) {
	for _, url := range []string{"memory:", open.SQLiteURL(filepath.Join(t.TempDir(), "leases.db"))} {
		changes := 0
		s, err := open.Store(t.Context(), url, &open.Options{Observer: &local.Observer{Commit: func(c local.Commit) { changes += c.Changes }}})
		if err != nil {
			t.Fatalf("Store(%q) = %v", url, err)
		}
		g, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: time.Hour})
		if err != nil {
			t.Fatalf("Acquire = %v", err)
		}
		figures, ok := s.(interface{ Figures() local.Figures })
		if !ok || figures.Figures().Leases != 1 || figures.Figures().HistoryRecords != 1 {
			t.Errorf("%s has no figures, or not those of one lease", open.Scheme(url))
		}
		if _, err := s.Release(t.Context(), leasehold.ReleaseRequest{ID: g.ID}); err != nil {
			t.Fatalf("Release = %v", err)
		}
		if err := s.Close(); err != nil || changes != 2 {
			t.Errorf("%s told of %d changes, want 2 (%v)", open.Scheme(url), changes, err)
		}
	}
}
