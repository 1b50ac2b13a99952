package main

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold"
)

// mostMissed is how many records are fetched to fill a gap; beyond, the user is
// told of the gap instead.
const mostMissed = 10 * leasehold.MaxPage

// missedRecords fills the gap that a reset speaks of from the history, oldest
// first, if the store has kept it.
func missedRecords(ctx context.Context, s leasehold.Store, r leasehold.WatchRequest, n leasehold.Notice) ([]leasehold.Record, bool) {
	historian, ok := s.(leasehold.Historian)
	if !ok || !n.Reset || r.After == 0 || r.After >= n.Seq {
		return nil, false
	}
	q := leasehold.HistoryRequest{Prefix: r.Prefix, Holder: r.Holder, Limit: leasehold.MaxPage}
	var missed []leasehold.Record
	for {
		page, err := historian.History(ctx, q)
		if err != nil || len(missed) > mostMissed {
			return nil, false
		}
		for _, record := range page.Records {
			if record.Seq <= r.After {
				slices.Reverse(missed)
				return missed, true
			}
			if record.Seq <= n.Seq {
				missed = append(missed, record)
			}
		}
		if q.Cursor = page.Cursor; q.Cursor == "" {
			slices.Reverse(missed)
			return missed, len(missed) > 0 && !purgedSince(ctx, historian, r.After)
		}
	}
}

// purgedSince reports whether records may have been dropped after that one.
func purgedSince(ctx context.Context, h leasehold.Historian, seq uint64) bool {
	page, err := h.History(ctx, leasehold.HistoryRequest{Kind: leasehold.KindPurged, Limit: 1})
	return err != nil || len(page.Records) > 0 && page.Records[0].Seq > seq
}
