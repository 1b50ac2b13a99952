package wire

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/leasehold/leasehold"
)

// told is a cause that names a host, and has a text for clients.
type told struct{}

func (told) Error() string  { return "cannot reach db.internal" }
func (told) Public() string { return "its database is away" }

func TestPublic(t *testing.T) {
	refused := leasehold.Invalid("ttl_seconds", "is negative")
	refused.Cause = errors.New("the parser's")
	for name, c := range map[string]struct {
		e    *leasehold.Error
		want string
	}{
		"a client's mistake": {refused, refused.Error()},
		"a failure": {
			&leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "renew", Cause: errors.New("cannot reach db.internal")},
			"renew: the store is unavailable; nothing was changed, try again later",
		},
		"one that clients may know": {
			&leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "renew", Cause: fmt.Errorf("commit: %w", told{})},
			"renew: the store is unavailable: its database is away; nothing was changed, try again later",
		},
		"an unknown outcome": {
			&leasehold.Error{Reason: leasehold.ReasonUnknown, Op: "renew", Cause: errors.New("cannot reach db.internal")},
			"renew: the answer was lost; it may have happened, so ask again with the same lease id",
		},
	} {
		before := c.e.Error()
		public := Public(c.e)
		if diff := cmp.Diff(c.want, public.Error()); diff != "" {
			t.Errorf("Public(%s) (-want +got):\n%s", name, diff)
		}
		if got := FromError(public).Error().Error(); got != c.want {
			t.Errorf("Public(%s) on the other side = %q, want %q", name, got, c.want)
		}
		if c.e.Error() != before {
			t.Errorf("Public(%s) changed the error that goes to the log", name)
		}
	}
}
