package surreal

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/models"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// backend is the database as package cas sees it.
type backend struct {
	db    *surrealdb.DB
	own   *conn  // nil: the client was handed in
	thing string // the name of type::record before version 3; empty: that

	numbering chan struct{} // of one: who has it numbers records
}

var (
	_ cas.Backend       = (*backend)(nil)
	_ cas.Finder        = (*backend)(nil)
	_ cas.Notifier      = (*backend)(nil)
	_ cas.Follower      = (*backend)(nil)
	_ cas.Purger        = (*backend)(nil)
	_ cas.Configurer    = (*backend)(nil)
	_ cas.Counter       = (*backend)(nil)
	_ cas.HolderSwapper = (*backend)(nil)
	_ cas.Sweeper       = (*backend)(nil)
)

// Traits implements cas.Backend.
func (b *backend) Traits() cas.Traits { return cas.Traits{Kind: kind} }

// Close implements cas.Backend.
func (b *backend) Close() error {
	if b.own != nil {
		b.own.close()
	}
	return nil
}

// seen is what statements answer that read records.
type seen struct {
	Row      *record               `json:"row"`
	Rows     []record              `json:"rows"`
	Settings *string               `json:"settings"`
	Next     *int64                `json:"next"`
	Time     models.CustomDateTime `json:"time"`
}

// items are the rows as package cas sees them.
func (s seen) items() ([]cas.Item, error) {
	items := make([]cas.Item, len(s.Rows))
	for i := range s.Rows {
		item, err := s.Rows[i].item(s.Time.Time)
		if err != nil {
			return nil, err
		}
		item.Settings = s.settings()
		items[i] = item
	}
	return items, nil
}

func (s seen) settings() string {
	if s.Settings == nil {
		return ""
	}
	return *s.Settings
}

// Load implements cas.Backend.
func (b *backend) Load(ctx context.Context, resource string) (cas.Item, error) {
	var found seen
	if err := b.read(ctx, loadText, vars{"record": leaseRecord(resource)}, &found); err != nil {
		return cas.Item{}, err
	}
	item := cas.Item{Now: found.Time.Time}
	if found.Row != nil {
		var err error
		if item, err = found.Row.item(found.Time.Time); err != nil {
			return cas.Item{}, err
		}
	}
	item.Settings = found.settings()
	return item, nil
}

// Swap implements cas.Backend.
func (b *backend) Swap(ctx context.Context, v cas.Version, w cas.Write) (cas.Item, error) {
	now, err := b.commit(ctx, swapText, vars{
		"record": leaseRecord(w.Row.Resource), "version": string(v), "settings": w.Settings,
		"w": encode(w), "records": encodeRecords(w.Records), "count": int64(len(w.Records)),
	})
	if errors.Is(err, errDuplicate) && !w.Row.ID.IsZero() {
		if err := b.forget(ctx, w.Row.ID); err != nil {
			return cas.Item{}, err
		}
	}
	if err != nil {
		return cas.Item{}, err
	}
	return cas.Item{Row: w.Row, Marks: w.Marks, Version: cas.Version(w.Marks[0]), Now: now, Settings: w.Settings}, nil
}

// forget drops an id from a record whose lease ended so long ago that nobody
// remembers it: it may be used again.
func (b *backend) forget(ctx context.Context, id leasehold.ID) error {
	_, err := b.run(ctx, forgetText, vars{"id": id.Reveal()})
	if errors.Is(err, cas.ErrRaced) {
		return nil
	}
	return err
}

// Scan implements cas.Backend. Names with the prefix follow each other.
func (b *backend) Scan(ctx context.Context, prefix, after string, n int) ([]cas.Item, error) {
	text, v := scanText, vars{"after": after, "n": int64(n)}
	if prefix > after {
		text, v = scanFromText, vars{"from": prefix, "n": int64(n)}
	}
	var found seen
	if err := b.read(ctx, text, v, &found); err != nil {
		return nil, err
	}
	items, err := found.items()
	end := slices.IndexFunc(items, func(item cas.Item) bool { return !strings.HasPrefix(item.Row.Resource, prefix) })
	if end >= 0 {
		items = items[:end]
	}
	return items, err
}

// Find implements cas.Finder.
func (b *backend) Find(ctx context.Context, id leasehold.ID) ([]cas.Item, error) {
	var found seen
	if err := b.read(ctx, findText, vars{"id": id.Reveal()}, &found); err != nil {
		return nil, err
	}
	return found.items()
}

// Due implements cas.Sweeper.
func (b *backend) Due(ctx context.Context, n int) ([]cas.Item, time.Duration, error) {
	var found seen
	if err := b.read(ctx, dueText, vars{"n": int64(n)}, &found); err != nil {
		return nil, 0, err
	}
	next := time.Duration(-1)
	if found.Next != nil && *found.Next != far {
		next = max(0, time.Duration(*found.Next-found.Time.UnixNano()))
	}
	items, err := found.items()
	return items, next, err
}

// Count implements cas.Counter. So long as there are fewer records than most,
// their number will do.
func (b *backend) Count(ctx context.Context, caller string, most int64) (live, callers int64, err error) {
	var n int64
	if err := b.read(ctx, countText, nil, &n); err != nil || caller == "" && n < most {
		return n, 0, err
	}
	var found struct {
		All     int64 `json:"all"`
		Callers int64 `json:"callers"`
	}
	err = b.read(ctx, countLiveText, vars{"caller": caller}, &found)
	return found.All, found.Callers, err
}
