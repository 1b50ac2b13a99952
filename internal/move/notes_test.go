package move_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/move"
)

// TestNotes: what holders left for the next ones goes along, and a target that would
// lose it is refused before anything is closed, in the plan too.
func TestNotes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, source, target := twoStores(t)
		notes := []leasehold.Note{{From: "ann", Text: "half of it is done"}}
		for _, resource := range []string{"r1", "r5"} { // held, and released
			row, ok := source.rows[resource]
			if !ok {
				t.Fatalf("the source has no %s", resource)
			}
			row.Notes = notes
			source.rows[resource] = row
		}
		ended := source.rows["r7"] // notes of a lease that has expired are for nobody
		ended.Notes = notes
		source.rows["r7"] = ended
		time.Sleep(5 * time.Second)

		target.noNotes = true
		for name, plan := range map[string]func() error{
			"NewPlan": func() error {
				_, err := move.NewPlan(t.Context(), source, target, options(source, target))
				return err
			},
			"Run": func() error {
				_, err := move.Run(t.Context(), source, target, options(source, target))
				return err
			},
		} {
			refused, ok := errors.AsType[*move.RefusedError](plan())
			if !ok || !strings.Contains(refused.Problem, "notes on 2 leases of source, and target keeps none") || refused.Advice == "" {
				t.Errorf("%s = %v, want a refusal for 2 leases", name, plan())
			}
		}
		if source.id != "" || target.id != "" || !source.grants() {
			t.Errorf("the marks after a refusal: %q and %q, want none", source.id, target.id)
		}

		target.noNotes = false
		run(t, source, target)
		for _, resource := range []string{"r1", "r5"} {
			if diff := cmp.Diff(notes, target.rows[resource].Notes); diff != "" {
				t.Errorf("the notes of %s (-want +got):\n%s", resource, diff)
			}
		}
	})
}
