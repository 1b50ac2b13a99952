package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

// TestOpenMoved: a file whose leases are elsewhere grants none, and stays as it was;
// for its blobs it can be opened.
func TestOpenMoved(t *testing.T) {
	for state, says := range map[string]string{
		"left":     "were moved to postgres://db/leases",
		"moved":    "were moved to postgres://db/leases",
		"arriving": "leasehold move ends it",
	} {
		t.Run(state, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "leases.db")
			newStore(t, path, nil).Close()
			edit(t, path, `UPDATE lease_move SET id = 'm', state = '`+state+`', peer = 'postgres://db/leases'`)
			untouched(t, path, func() {
				_, err := Open(t.Context(), path, nil)
				if leasehold.ReasonOf(err) != leasehold.ReasonUnavailable || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), path) {
					t.Errorf("Open() = %v, want unavailable that says %q", err, says)
				}
			})
			newStore(t, path, &Options{BlobsOnly: true})
		})
	}
}

// TestOpenLeaving: a move that has not come to its point of no return is void, since
// the engine has the file and not the mover. The mark keeps its id.
func TestOpenLeaving(t *testing.T) {
	path := filepath.Join(t.TempDir(), "leases.db")
	newStore(t, path, nil).Close()
	edit(t, path, `UPDATE lease_move SET id = 'm', state = 'leaving', peer = 'p', until = 123`)
	mustAcquire(t, newStore(t, path, nil), "r")
	got := query(t, path, "SELECT id, state, peer, until FROM lease_move")
	if diff := cmp.Diff([]string{"m |  | p | 0"}, got); diff != "" {
		t.Errorf("the mark (-want +got):\n%s", diff)
	}
}
