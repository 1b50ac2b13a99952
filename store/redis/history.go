package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
	"github.com/redis/go-redis/v9"
)

// historyStep is how many records are read at a time.
const historyStep = 500

// History implements leasehold.Historian. It reads the stream from its end and
// filters what it reads.
func (s *Store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if !s.recording {
		return leasehold.HistoryPage{}, &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: "history", Store: kind}
	}
	if err := r.Validate(); err != nil {
		return leasehold.HistoryPage{}, opError("history", "", err)
	}
	from := "+"
	if r.Cursor != "" {
		seq, err := parseHistoryCursor(r.Cursor)
		if err != nil {
			return leasehold.HistoryPage{}, opError("history", "", err)
		}
		from = "(" + seq + "-0"
	}
	limit := r.Limit
	if limit == 0 {
		limit = leasehold.DefaultPage
	}
	records, err := s.readHistory(ctx, r, from, limit+1) // one more shows whether there is another page
	if err != nil {
		return leasehold.HistoryPage{}, s.readFailure("history", "", err)
	}
	page := leasehold.HistoryPage{Records: records}
	if len(records) > limit {
		page.Records = records[:limit]
		page.Cursor = lists.CursorOf("h", strconv.FormatUint(records[limit-1].Seq, 10))
	}
	return page, nil
}

func parseHistoryCursor(c string) (string, error) {
	seq, err := lists.ParseCursorOf("h", c)
	if err != nil {
		return "", err
	}
	if n, err := strconv.ParseUint(seq, 10, 63); err != nil || strconv.FormatUint(n, 10) != seq {
		return "", lists.BadCursor()
	}
	return seq, nil
}

// readHistory reads backwards until it has n records that match.
func (s *Store) readHistory(ctx context.Context, r leasehold.HistoryRequest, from string, n int) ([]leasehold.Record, error) {
	var found []leasehold.Record
	for {
		messages, err := await(ctx, s, func(ctx context.Context) ([]redis.XMessage, error) {
			return s.client.XRevRangeN(ctx, s.keys.history, from, "-", historyStep).Result()
		}, nil)
		if err != nil {
			return nil, err
		}
		for _, m := range messages {
			record, err := parseRecord(m)
			if err != nil {
				return nil, err
			}
			if recordMatches(r, record) {
				if found = append(found, record); len(found) == n {
					return found, nil
				}
			}
		}
		if len(messages) < historyStep {
			return found, nil
		}
		from = "(" + messages[len(messages)-1].ID
	}
}

// parseRecord reads an entry of the stream.
func parseRecord(m redis.XMessage) (leasehold.Record, error) {
	text := func(field string) string { s, _ := m.Values[field].(string); return s }
	var failed error
	number := func(s string) uint64 {
		n, err := strconv.ParseUint(s, 10, 63)
		if err != nil {
			failed = err
		}
		return n
	}
	state := func(field string) leasehold.State {
		s, err := leasehold.ParseState(text(field))
		if err != nil {
			failed = err
		}
		return s
	}
	seq, _, _ := strings.Cut(m.ID, "-")
	r := leasehold.Record{
		Seq: number(seq), At: time.UnixMicro(int64(number(text("at")))).UTC(), Kind: leasehold.Kind(text("event")),
		Resource: text("resource"), Holder: text("holder"), Token: number(text("token")),
		Before: state("before"), After: state("after"), Renewals: int(number(text("renewals"))), Why: text("why"),
	}
	if details := text("details"); details != "" {
		if err := json.Unmarshal([]byte(details), &r.Details); err != nil {
			failed = err
		}
	}
	if failed != nil {
		return r, fmt.Errorf("history record %s: %w", m.ID, failed)
	}
	return r, nil
}

func recordMatches(r leasehold.HistoryRequest, record leasehold.Record) bool {
	switch {
	case r.Resource != "" && record.Resource != r.Resource,
		!strings.HasPrefix(record.Resource, r.Prefix),
		r.Holder != "" && record.Holder != r.Holder,
		r.Kind != "" && record.Kind != r.Kind,
		!r.Since.IsZero() && record.At.Before(r.Since),
		!r.Until.IsZero() && !record.At.Before(r.Until):
		return false
	}
	return true
}
