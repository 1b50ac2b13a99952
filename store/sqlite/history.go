package sqlite

import (
	"context"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/local"
	"github.com/leasehold/leasehold/store/sqlite/internal/dbfile"
	"zombiezen.com/go/sqlite"
)

// scanShare is how much of the processors all scans of the history may take
// together: a search of a million records waits, and not requests for leases and
// blobs.
const scanShare = 0.15

// History returns a page of records, newest first.
func (j *journal) History(ctx context.Context, q local.HistoryQuery) ([]leasehold.Record, error) {
	s := &dbfile.Scan{HistoryQuery: q}
	for !s.Done {
		err := j.turns.Do(ctx, func() error { return j.read(ctx, &j.scanners, s.Step) })
		if err != nil {
			return nil, err
		}
	}
	return s.Page, nil
}

// PurgePoint implements local.Journal.
func (j *journal) PurgePoint(ctx context.Context, before time.Time, keep int64) (through uint64, n int, err error) {
	err = j.read(ctx, &j.scanners, func(conn *sqlite.Conn) error {
		through, n, err = dbfile.PurgePoint(conn, before, keep)
		return err
	})
	return through, n, err
}
