package cas

import (
	"context"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/internal/historywatch"
)

// watches is what makes a Follower a leasehold.Watcher. The zero value is that of
// another backend.
type watches struct{ *historywatch.Watches }

func (s *Store) startWatches() {
	if f, ok := s.backend.(Follower); ok {
		s.watches = watches{historywatch.New(historywatch.Options{Store: s.traits.Kind, Last: f.Last, After: f.After})}
	}
}

// wake says that there may be new records.
func (w watches) wake() {
	if w.Watches != nil {
		w.Wake()
	}
}

func (w watches) close() {
	if w.Watches != nil {
		w.Close()
	}
}

// refused passes on a refusal.
func (w watches) refused(op operation, res result) {
	if w.Watches == nil {
		return
	}
	row := res.out.Row
	w.Refused(leasehold.Record{
		At: res.now.WallTime(), Kind: leasehold.KindRefused, Resource: op.resource,
		Holder: row.Holder, Token: row.Token, Before: row.State, After: row.State,
		Why: string(res.out.Reason), Details: map[string]string{"operation": op.name},
	})
}

// Watch implements leasehold.Watcher.
func (s *Store) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if s.watches.Watches == nil {
		return s.failures.New("watch", "", leasehold.ReasonUnsupported, nil)
	}
	return s.watches.Watch(ctx, r, each)
}

// WatchBatches implements leasehold.BatchWatcher.
func (s *Store) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if s.watches.Watches == nil {
		return s.failures.New("watch", "", leasehold.ReasonUnsupported, nil)
	}
	return s.watches.WatchBatches(ctx, r, each)
}
