package surreal

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/sleep"
	"github.com/leasehold/leasehold/store/cas"
)

// A counter that every transaction writes would make all of them conflict. So a
// transaction leaves its records in lease_journal, under its time, and those who
// read the history number them first: in the order of their times, after all that
// have numbers. What has a number was committed before what has none, and nobody
// sees a record without a number, so the numbers are in the order of commits.

// line is a record as JSON.
type line struct {
	At       time.Time         `json:"at"`
	Kind     leasehold.Kind    `json:"kind"`
	Resource string            `json:"resource,omitempty"`
	Holder   string            `json:"holder,omitempty"`
	Token    uint64            `json:"token,omitempty"`
	Before   string            `json:"before"`
	After    string            `json:"after"`
	Renewals int               `json:"renewals,omitempty"`
	Why      string            `json:"why,omitempty"`
	Details  map[string]string `json:"details,omitempty"`
	Kept     bool              `json:"kept,omitempty"`
}

// encodeRecords makes the text of a transaction's records.
func encodeRecords(records []cas.Record) string {
	lines := make([]line, len(records))
	for i, r := range records {
		lines[i] = line{
			At: r.At, Kind: r.Kind, Resource: r.Resource, Holder: r.Holder, Token: r.Token,
			Before: r.Before.String(), After: r.After.String(), Renewals: r.Renewals,
			Why: r.Why, Details: r.Details, Kept: r.Kept,
		}
	}
	text, _ := json.Marshal(lines) // of plain values: never fails
	return string(text)
}

// record is the line as a record with a number.
func (l line) record(seq uint64) (leasehold.Record, error) {
	before, err := leasehold.ParseState(l.Before)
	if err != nil {
		return leasehold.Record{}, unavailable(errUnreadable)
	}
	after, err := leasehold.ParseState(l.After)
	if err != nil {
		return leasehold.Record{}, unavailable(errUnreadable)
	}
	return leasehold.Record{
		Seq: seq, At: l.At.UTC(), Kind: l.Kind, Resource: l.Resource, Holder: l.Holder, Token: l.Token,
		Before: before, After: after, Renewals: l.Renewals, Why: l.Why, Details: l.Details,
	}, nil
}

// row is the line as a row of lease_history.
func (l line) row(seq int64) map[string]any {
	details, _ := json.Marshal(l.Details)
	return map[string]any{
		"id": models.RecordID{Table: "lease_history", ID: seq},
		"at": stamp(l.At), "kind": string(l.Kind), "resource": l.Resource, "holder": l.Holder, "token": int64(l.Token),
		"before": l.Before, "after": l.After, "renewals": int64(l.Renewals), "why": l.Why, "details": string(details),
	}
}

// notice is the line as a row of lease_notices.
func (l line) notice(seq int64) map[string]any {
	text, _ := json.Marshal(l)
	return map[string]any{"id": models.RecordID{Table: "lease_notices", ID: seq}, "record": string(text)}
}

// numbers is the record of the numbers.
type numbers struct {
	Last    int64 `json:"last"`    // that was given
	Kept    int64 `json:"kept"`    // how many records lease_history has
	Dropped int64 `json:"dropped"` // the last number of which the record is gone
}

// vars are the numbers as a parameter.
func (n numbers) vars() vars { return vars{"last": n.Last, "kept": n.Kept, "dropped": n.Dropped} }

// journal is what has no number yet.
type journal struct {
	Numbers numbers `json:"numbers"`
	Journal []struct {
		ID      models.RecordID `json:"id"`
		Records string          `json:"records"`
	} `json:"journal"`
	Oldest int64                 `json:"oldest"` // number in lease_history; zero: it is empty
	Time   models.CustomDateTime `json:"time"`
}

// change is what a transaction does that gives numbers.
type change struct {
	history, notices []map[string]any
	done             []models.RecordID // to be deleted
}

// renumber replaces the numbers, if they are still what they were.
func (b *backend) renumber(ctx context.Context, was, now numbers, c change) error {
	_, err := b.commit(ctx, numberText, vars{
		"was": was.vars(), "now": now.vars(), // a nil slice would be NULL
		"history": append([]map[string]any{}, c.history...), "notices": append([]map[string]any{}, c.notices...),
		"done": append([]models.RecordID{}, c.done...),
	})
	return err
}

// atOnce is how many transactions are numbered at a time.
const atOnce = 500

// number gives numbers to all records that were committed before.
func (b *backend) number(ctx context.Context) (journal, error) {
	select {
	case b.numbering <- struct{}{}:
		defer func() { <-b.numbering }()
	case <-ctx.Done():
		return journal{}, unavailable(context.Cause(ctx))
	}
	for {
		state, more, err := b.numberOnce(ctx)
		if err == nil && !more {
			return state, nil
		}
		if err != nil && !errors.Is(err, cas.ErrRaced) {
			return journal{}, err
		}
		if err != nil {
			if err := shortPause(ctx); err != nil {
				return journal{}, err
			}
		}
	}
}

// shortPause lets another program finish that numbers at the same time.
func shortPause(ctx context.Context) error {
	if !sleep.For(ctx, time.Millisecond+rand.N(5*time.Millisecond)) {
		return unavailable(context.Cause(ctx))
	}
	return nil
}

func (b *backend) numberOnce(ctx context.Context) (state journal, more bool, err error) {
	if err := b.read(ctx, journalText, vars{"n": int64(atOnce)}, &state); err != nil || len(state.Journal) == 0 {
		return state, false, err
	}
	now := state.Numbers
	var c change
	for _, entry := range state.Journal {
		var lines []line
		if err := json.Unmarshal([]byte(entry.Records), &lines); err != nil {
			return state, false, unavailable(errUnreadable)
		}
		for _, l := range lines {
			now.Last++
			if l.Kept {
				now.Kept++
				c.history = append(c.history, l.row(now.Last))
			} else {
				c.notices = append(c.notices, l.notice(now.Last))
			}
		}
		c.done = append(c.done, entry.ID)
	}
	if err := b.renumber(ctx, state.Numbers, now, c); err != nil {
		return state, false, err
	}
	if state.Oldest == 0 && len(c.history) > 0 {
		state.Oldest = c.history[0]["id"].(models.RecordID).ID.(int64)
	}
	state.Numbers = now
	return state, len(state.Journal) == atOnce, nil
}
