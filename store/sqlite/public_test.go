package sqlite

import (
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"github.com/leasehold/leasehold/wire"
	"zombiezen.com/go/sqlite"
)

// What a server's clients are told of a failing file, never where it is.
func TestPublicFailure(t *testing.T) {
	for want, cause := range map[string]error{
		"its disk is full":              fmt.Errorf("write: %w", syscall.ENOSPC),
		"its file cannot be written to": fmt.Errorf("open: %w", fs.ErrPermission),
		"its file is damaged":           sqlite.ResultCorrupt.ToError(),
		"store is unavailable; nothing": sqlite.ResultIOErr.ToError(), // the log says more
	} {
		e := &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "renew", Cause: dbfile.Describe("/data/leases.db", cause)}
		if got := wire.Public(e).Error(); !strings.Contains(got, want) || strings.Contains(got, "/data") {
			t.Errorf("of %v clients are told %q, want %q and no path", cause, got, want)
		}
	}
}
