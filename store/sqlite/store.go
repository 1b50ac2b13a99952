package sqlite

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
)

// Store is the embedded engine on a SQLite file: a leasehold.Store with every
// optional power, and the seam's Engine. Close lets the file go.
type Store struct {
	*local.Engine
	journal *journal
}

var _ leasehold.Backuper = (*Store)(nil)

// Open opens the store in the file at path and makes the file if there is none.
//
// It refuses, with an error that says what to do, a file that another process
// has open (ErrInUse), that is not Leasehold's (ErrForeign), that a newer
// program has changed (ErrNewer), that is damaged (ErrDamaged) or cannot be
// written (ErrReadOnly); the file stays as it was, byte by byte. A file that
// must exist and does not is ErrMissing.
func Open(ctx context.Context, path string, opts *Options) (*Store, error) {
	o := opts.orDefault()
	if err := o.validate(); err != nil {
		return nil, unavailable("open", path, err)
	}
	j, err := openJournal(ctx, path, o)
	if err != nil {
		return nil, unavailable("open", path, err)
	}
	engine, err := local.Open(ctx, j, &local.Options{Kind: kind})
	if err != nil {
		return nil, unavailable("open", path, err)
	}
	return &Store{Engine: engine, journal: j}, nil
}
