package telemetry

import (
	"context"

	"github.com/leasehold/leasehold"
)

var (
	_ leasehold.Waiter         = (*store)(nil)
	_ leasehold.Breaker        = (*store)(nil)
	_ leasehold.Changer        = (*store)(nil)
	_ leasehold.Transferer     = (*store)(nil)
	_ leasehold.Finder         = (*store)(nil)
	_ leasehold.Lister         = (*store)(nil)
	_ leasehold.HolderReleaser = (*store)(nil)
	_ leasehold.ChildReleaser  = (*store)(nil)
	_ leasehold.Historian      = (*store)(nil)
	_ leasehold.Cleaner        = (*store)(nil)
	_ leasehold.Configurer     = (*store)(nil)
	_ leasehold.Backuper       = (*store)(nil)
	_ leasehold.Watcher        = (*store)(nil)
	_ leasehold.BatchWatcher   = (*store)(nil)
	_ leasehold.WaitLister     = (*store)(nil)
)

// unsupported is the answer of a power that the store inside lacks. It is not
// recorded: nobody called a store.
func (s *store) unsupported(m method) error { return s.lacks(methodNames[m].operation) }

func (s *store) lacks(op string) error {
	return &leasehold.Error{Reason: leasehold.ReasonUnsupported, Op: op, Store: s.p.name}
}

// Break implements leasehold.Breaker.
func (s *store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	p, ok := s.next.(leasehold.Breaker)
	if !ok {
		return leasehold.Lease{}, s.unsupported(methodBreak)
	}
	c := s.start(ctx, methodBreak)
	l, err := p.Break(c.ctx, r)
	c.end(leaseAnswer(r.Resource, "", 0, &l, err))
	return l, err
}

// Change implements leasehold.Changer.
func (s *store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	p, ok := s.next.(leasehold.Changer)
	if !ok {
		return leasehold.Lease{}, s.unsupported(methodChange)
	}
	c := s.start(ctx, methodChange)
	l, err := p.Change(c.ctx, r)
	c.end(leaseAnswer(r.Resource, r.Holder, r.Token, &l, err))
	return l, err
}

// Transfer implements leasehold.Transferer.
func (s *store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	p, ok := s.next.(leasehold.Transferer)
	if !ok {
		return leasehold.Lease{}, s.unsupported(methodTransfer)
	}
	c := s.start(ctx, methodTransfer)
	l, err := p.Transfer(c.ctx, r)
	c.end(leaseAnswer(r.Resource, r.Holder, r.Token, &l, err))
	return l, err
}

// Find implements leasehold.Finder.
func (s *store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	p, ok := s.next.(leasehold.Finder)
	if !ok {
		return leasehold.Lease{}, s.unsupported(methodFind)
	}
	c := s.start(ctx, methodFind)
	l, err := p.Find(c.ctx, id)
	c.end(leaseAnswer("", "", 0, &l, err))
	return l, err
}

// List implements leasehold.Lister.
func (s *store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	p, ok := s.next.(leasehold.Lister)
	if !ok {
		return leasehold.LeasePage{}, s.unsupported(methodList)
	}
	c := s.start(ctx, methodList)
	page, err := p.List(c.ctx, r)
	c.end(answer{resource: r.Resource, err: err})
	return page, err
}

// Waits implements leasehold.WaitLister.
func (s *store) Waits(ctx context.Context, limit int) (leasehold.WaitList, error) {
	p, ok := s.next.(leasehold.WaitLister)
	if !ok {
		return leasehold.WaitList{}, s.unsupported(methodWaits)
	}
	c := s.start(ctx, methodWaits)
	list, err := p.Waits(c.ctx, limit)
	c.end(answer{err: err})
	return list, err
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (s *store) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	p, ok := s.next.(leasehold.HolderReleaser)
	if !ok {
		return 0, s.unsupported(methodReleaseHolder)
	}
	c := s.start(ctx, methodReleaseHolder)
	n, err := p.ReleaseHolder(c.ctx, holder, why)
	c.end(answer{holder: holder, err: err})
	return n, err
}

// ReleaseWithChildren implements leasehold.ChildReleaser.
func (s *store) ReleaseWithChildren(ctx context.Context, holder, why string) (int, error) {
	p, ok := s.next.(leasehold.ChildReleaser)
	if !ok {
		return 0, s.unsupported(methodReleaseHolder)
	}
	c := s.start(ctx, methodReleaseHolder)
	n, err := p.ReleaseWithChildren(c.ctx, holder, why)
	c.end(answer{holder: holder, err: err})
	return n, err
}

// History implements leasehold.Historian.
func (s *store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	p, ok := s.next.(leasehold.Historian)
	if !ok {
		return leasehold.HistoryPage{}, s.unsupported(methodHistory)
	}
	c := s.start(ctx, methodHistory)
	page, err := p.History(c.ctx, r)
	c.end(answer{err: err})
	return page, err
}

// Cleanup implements leasehold.Cleaner.
func (s *store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	p, ok := s.next.(leasehold.Cleaner)
	if !ok {
		return leasehold.Cleaned{}, s.unsupported(methodCleanup)
	}
	c := s.start(ctx, methodCleanup)
	cleaned, err := p.Cleanup(c.ctx)
	c.end(answer{err: err})
	return cleaned, err
}

// Settings implements leasehold.Configurer.
func (s *store) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	p, ok := s.next.(leasehold.Configurer)
	if !ok {
		return nil, s.unsupported(methodSettings)
	}
	c := s.start(ctx, methodSettings)
	settings, err := p.Settings(c.ctx)
	c.end(answer{err: err})
	return settings, err
}

// SetSetting implements leasehold.Configurer.
func (s *store) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	p, ok := s.next.(leasehold.Configurer)
	if !ok {
		return leasehold.Setting{}, s.unsupported(methodSetSetting)
	}
	c := s.start(ctx, methodSetSetting)
	setting, err := p.SetSetting(c.ctx, key, value)
	c.end(answer{err: err})
	return setting, err
}

// Backup implements leasehold.Backuper.
func (s *store) Backup(ctx context.Context, path string) error {
	p, ok := s.next.(leasehold.Backuper)
	if !ok {
		return s.unsupported(methodBackup)
	}
	c := s.start(ctx, methodBackup)
	err := p.Backup(c.ctx, path)
	c.end(answer{err: err})
	return err
}

// Watch implements leasehold.Watcher.
func (s *store) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	p, ok := s.next.(leasehold.Watcher)
	if !ok {
		return s.lacks("watch")
	}
	return p.Watch(ctx, r, each)
}

// WatchBatches implements leasehold.BatchWatcher, by Watch where the store has only
// that.
func (s *store) WatchBatches(ctx context.Context, r leasehold.WatchRequest, each func([]*leasehold.SharedNotice) error) error {
	if p, ok := s.next.(leasehold.BatchWatcher); ok {
		return p.WatchBatches(ctx, r, each)
	}
	return s.Watch(ctx, r, func(n leasehold.Notice) error {
		return each([]*leasehold.SharedNotice{{Notice: n}})
	})
}
