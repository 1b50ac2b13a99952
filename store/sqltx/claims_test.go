package sqltx

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold/store/internal/claimless"
)

// TestClaims, notes and paths are refused before the database is called; by one that
// keeps notes of another mode too.
func TestClaims(t *testing.T) {
	for name, traits := range map[string]Traits{
		"waits":   {Kind: "test"},
		"no wait": {Kind: "test", NoWaiting: true, Serial: true, Notes: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newSwappingDB()
				d.traits = traits
				s := quiet(t, d, time.Second)
				d.fail = func(method string) error {
					t.Errorf("the store calls %s", method)
					return errors.New("there is no database")
				}
				claimless.Check(t.Context(), t, s, "test")
				d.fail = nil
			})
		})
	}
}
