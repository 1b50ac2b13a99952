package sqltx

import (
	"context"
	"strconv"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/lists"
	"github.com/leasehold/leasehold/store/internal/settings"
)

// History implements leasehold.Historian.
func (s *Store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	if s.traits.NoHistory {
		return leasehold.HistoryPage{}, s.failures.New("history", "", leasehold.ReasonUnsupported, nil)
	}
	q, err := recordQuery(r)
	if err != nil {
		return leasehold.HistoryPage{}, s.failures.Invalid("history", "", err)
	}
	if err := s.calls.Start("history", ""); err != nil {
		return leasehold.HistoryPage{}, err
	}
	defer s.calls.Done()
	limit := q.Limit
	q.Limit++ // one more shows whether there is another page
	records, err := s.db.Records(ctx, q)
	if err != nil {
		return leasehold.HistoryPage{}, s.failures.Read(ctx, "history", "", err)
	}
	page := leasehold.HistoryPage{Records: records}
	if len(records) > limit {
		page.Records = records[:limit]
		page.Cursor = lists.Cursor("h" + strconv.FormatUint(records[limit-1].Seq, 10))
	}
	return page, nil
}

func recordQuery(r leasehold.HistoryRequest) (RecordQuery, error) {
	q := RecordQuery{HistoryRequest: r}
	if err := r.Validate(); err != nil {
		return q, err
	}
	if q.Limit == 0 {
		q.Limit = leasehold.DefaultPage
	}
	if r.Cursor == "" {
		return q, nil
	}
	text, err := lists.ParseCursor(r.Cursor)
	if err == nil && text[0] == 'h' {
		q.Below, err = strconv.ParseUint(text[1:], 10, 63)
	}
	if err != nil || q.Below == 0 {
		return q, leasehold.Invalid("cursor", "is not one that this history gave out; start again without it")
	}
	return q, nil
}

// Watch implements leasehold.Watcher.
func (s *Store) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if err := s.mayWatch(r); err != nil {
		return err
	}
	return s.watches.Watch(ctx, r, each)
}

// WatchBatches implements leasehold.BatchWatcher.
func (s *Store) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if err := s.mayWatch(r); err != nil {
		return err
	}
	return s.watches.WatchBatches(ctx, r, each)
}

func (s *Store) mayWatch(r leasehold.WatchRequest) error {
	if s.traits.NoHistory {
		return s.failures.New("watch", "", leasehold.ReasonUnsupported, nil)
	}
	if err := r.Validate(); err != nil {
		return s.failures.Invalid("watch", "", err)
	}
	return nil
}

// Settings implements leasehold.Configurer.
func (s *Store) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	f, err := s.read(ctx, "settings", Need{})
	if err != nil {
		return nil, err
	}
	return s.control.decode(f.Control).List(), nil
}

// SetSetting implements leasehold.Configurer.
func (s *Store) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	var changed leasehold.Setting
	var invalid error
	err := s.change(ctx, "set", Need{Control: true}, func(v *settings.Values, f Found) Write {
		var before leasehold.Setting
		if _, changed, before, invalid = v.With(key, value); invalid != nil {
			return Write{}
		}
		w := Write{Settings: map[string]any{key: changed.Value}}
		if !s.traits.NoHistory {
			record := settings.Configured(changed, before)
			record.At, record.Why = f.Now.WallTime(), leasehold.WhyOf(ctx)
			w.Records, w.Kept = []leasehold.Record{record}, []bool{true}
		}
		return w
	})
	switch {
	case err != nil:
		return leasehold.Setting{}, err
	case invalid != nil:
		return leasehold.Setting{}, s.failures.Invalid("set", "", invalid)
	}
	s.ends.sweepSoon() // which also applies a new interval
	return changed, nil
}
