package surreal

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/store/internal/lists"
)

// historyRow is a row of lease_history.
type historyRow struct {
	Seq      int64                 `json:"seq"`
	At       models.CustomDateTime `json:"at"`
	Kind     string                `json:"kind"`
	Resource string                `json:"resource"`
	Holder   string                `json:"holder"`
	Token    int64                 `json:"token"`
	Before   string                `json:"before"`
	After    string                `json:"after"`
	Renewals int64                 `json:"renewals"`
	Why      string                `json:"why"`
	Details  string                `json:"details"`
}

func (r historyRow) record() (leasehold.Record, error) {
	l := line{
		At: r.At.Time, Kind: leasehold.Kind(r.Kind), Resource: r.Resource, Holder: r.Holder, Token: uint64(r.Token),
		Before: r.Before, After: r.After, Renewals: int(r.Renewals), Why: r.Why,
	}
	if err := json.Unmarshal([]byte(r.Details), &l.Details); err != nil {
		return leasehold.Record{}, unavailable(errUnreadable)
	}
	return l.record(uint64(r.Seq))
}

// Append implements cas.Historian.
func (b *backend) Append(ctx context.Context, r cas.Record) error {
	var now models.CustomDateTime
	return b.read(ctx, appendText, vars{"records": encodeRecords([]cas.Record{r})}, &now)
}

// How many numbers are looked at by a query: few at first, more while filters let
// little through.
const (
	firstBlock = 1_000
	maxBlock   = 50_000
)

// History implements leasehold.Historian. The engine cuts off a range before it
// sorts it, so ranges are read whole and sorted here.
func (b *backend) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	below, err := parseCursor(r.Cursor)
	if err != nil {
		return leasehold.HistoryPage{}, err
	}
	state, err := b.number(ctx)
	if err != nil {
		return leasehold.HistoryPage{}, err
	}
	if below == 0 || below > state.Numbers.Last+1 {
		below = state.Numbers.Last + 1
	}
	limit := cmp.Or(r.Limit, leasehold.DefaultPage)
	var page leasehold.HistoryPage
	for block := int64(firstBlock); below > max(1, state.Oldest) && state.Oldest > 0; block = min(2*block, maxBlock) {
		from := max(state.Oldest, below-block)
		records, err := b.block(ctx, r, from, below)
		if err != nil {
			return leasehold.HistoryPage{}, err
		}
		for _, record := range slices.Backward(records) {
			if len(page.Records) == limit {
				page.Cursor = cursor(page.Records[limit-1].Seq)
				return page, nil
			}
			page.Records = append(page.Records, record)
		}
		below = from
	}
	return page, nil
}

// block returns the records with numbers from one and below another that the
// request lets through, oldest first.
func (b *backend) block(ctx context.Context, r leasehold.HistoryRequest, from, below int64) ([]leasehold.Record, error) {
	var rows []historyRow
	err := b.read(ctx, historyText, vars{
		"from": from, "to": below, "resource": r.Resource, "prefix": r.Prefix, "holder": r.Holder, "kind": string(r.Kind),
	}, &rows)
	if err != nil {
		return nil, err
	}
	var records []leasehold.Record
	for _, row := range rows {
		record, err := row.record()
		if err != nil {
			return nil, err
		}
		if (r.Since.IsZero() || !record.At.Before(r.Since)) && (r.Until.IsZero() || record.At.Before(r.Until)) {
			records = append(records, record)
		}
	}
	slices.SortFunc(records, bySeq)
	return records, nil
}

func bySeq(x, y leasehold.Record) int { return cmp.Compare(x.Seq, y.Seq) }

// Last implements cas.Follower.
func (b *backend) Last(ctx context.Context) (uint64, error) {
	state, err := b.number(ctx)
	return uint64(state.Numbers.Last), err
}

// After implements cas.Follower.
func (b *backend) After(ctx context.Context, seq uint64, n int) ([]leasehold.Record, uint64, error) {
	state, err := b.number(ctx)
	if err != nil || state.Numbers.Last == 0 {
		return nil, 0, err
	}
	oldest := uint64(state.Numbers.Dropped + 1)
	from := int64(min(seq, uint64(state.Numbers.Last))) + 1
	to := min(from+int64(n), state.Numbers.Last+1)
	if from >= to {
		return nil, oldest, nil
	}
	records, err := b.block(ctx, leasehold.HistoryRequest{}, from, to)
	if err != nil {
		return nil, 0, err
	}
	noted, err := b.noticesBetween(ctx, from, to)
	if err != nil {
		return nil, 0, err
	}
	records = append(records, noted...)
	slices.SortFunc(records, bySeq)
	return records, oldest, nil
}

// noticeRow is a row of lease_notices.
type noticeRow struct {
	ID     models.RecordID `json:"id"`
	Seq    int64           `json:"seq"`
	Record string          `json:"record"`
}

func (r noticeRow) record() (leasehold.Record, error) {
	var l line
	if err := json.Unmarshal([]byte(r.Record), &l); err != nil {
		return leasehold.Record{}, unavailable(errUnreadable)
	}
	return l.record(uint64(r.Seq))
}

func (b *backend) noticesBetween(ctx context.Context, from, to int64) ([]leasehold.Record, error) {
	var rows []noticeRow
	if err := b.read(ctx, noticesText, vars{"from": from, "to": to}, &rows); err != nil {
		return nil, err
	}
	records := make([]leasehold.Record, len(rows))
	for i, row := range rows {
		var err error
		if records[i], err = row.record(); err != nil {
			return nil, err
		}
	}
	return records, nil
}

// cursor makes an opaque cursor out of the last number of a page. The checksum
// tells it from garbage.
func cursor(seq uint64) string {
	text := strconv.FormatUint(seq, 36)
	return fmt.Sprintf("%s.%08x", text, crc32.ChecksumIEEE([]byte(text)))
}

// parseCursor returns the number below which a page starts; zero: at the top.
func parseCursor(c string) (int64, error) {
	if c == "" {
		return 0, nil
	}
	text, _, _ := strings.Cut(c, ".")
	seq, err := strconv.ParseUint(text, 36, 53)
	if err != nil || seq == 0 || cursor(seq) != c {
		return 0, lists.BadCursor()
	}
	return int64(seq), nil
}
