package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
)

// A limit holds however the grants are spread over servers, and however lately one
// of them has counted.
func TestSmallLimitsHoldAcrossServers(t *testing.T) {
	for _, key := range []string{leasehold.SettingMaxLeases, leasehold.SettingMaxLeasesCaller} {
		t.Run(key, func(t *testing.T) {
			a, b := pair(t)
			_, err := a.SetSetting(t.Context(), key, int64(4))
			must(t, err)
			n := 0
			try := func(s *Store) error {
				n++
				_, err := s.Acquire(t.Context(), leasehold.AcquireRequest{
					Resource: fmt.Sprint("r", n), Holder: "h", Caller: "c", TTL: time.Minute,
				})
				return err
			}
			for i, s := range []*Store{a, b, b, b} {
				if err := try(s); err != nil {
					t.Fatalf("Acquire %d = %v, want a grant", i+1, err)
				}
			}
			for _, s := range []*Store{a, b} {
				if err := try(s); leasehold.ReasonOf(err) != leasehold.ReasonTooMany {
					t.Errorf("one more = %v, want too many", err)
				}
			}
		})
	}
}
