package chaos

import (
	"context"

	"github.com/leasehold/leasehold"
)

var (
	_ leasehold.Store          = (*Store)(nil)
	_ leasehold.Waiter         = (*Store)(nil)
	_ leasehold.Breaker        = (*Store)(nil)
	_ leasehold.Changer        = (*Store)(nil)
	_ leasehold.Transferer     = (*Store)(nil)
	_ leasehold.Finder         = (*Store)(nil)
	_ leasehold.Lister         = (*Store)(nil)
	_ leasehold.HolderReleaser = (*Store)(nil)
	_ leasehold.ChildReleaser  = (*Store)(nil)
	_ leasehold.Historian      = (*Store)(nil)
	_ leasehold.Cleaner        = (*Store)(nil)
	_ leasehold.Configurer     = (*Store)(nil)
	_ leasehold.Backuper       = (*Store)(nil)
	_ leasehold.Watcher        = (*Store)(nil)
	_ leasehold.WaitLister     = (*Store)(nil)
)

// Acquire implements leasehold.Store.
func (s *Store) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	c := Call{Op: OpAcquire, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Store) (leasehold.Grant, error) {
		return p.Acquire(ctx, r)
	})
}

// Renew implements leasehold.Store.
func (s *Store) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	c := Call{Op: OpRenew, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Store) (leasehold.Lease, error) {
		return p.Renew(ctx, r)
	})
}

// Release implements leasehold.Store.
func (s *Store) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	c := Call{Op: OpRelease, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Store) (leasehold.Lease, error) {
		return p.Release(ctx, r)
	})
}

// Status implements leasehold.Store.
func (s *Store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	c := Call{Op: OpStatus, Resource: resource}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Store) (leasehold.Status, error) {
		return p.Status(ctx, resource)
	})
}

// Wait implements leasehold.Waiter.
func (s *Store) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	c := Call{Op: OpWait, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Waiter) (leasehold.Grant, error) {
		return p.Wait(ctx, r)
	})
}

// Break implements leasehold.Breaker.
func (s *Store) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	c := Call{Op: OpBreak, Resource: r.Resource}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Breaker) (leasehold.Lease, error) {
		return p.Break(ctx, r)
	})
}

// Change implements leasehold.Changer.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	c := Call{Op: OpChange, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Changer) (leasehold.Lease, error) {
		return p.Change(ctx, r)
	})
}

// Transfer implements leasehold.Transferer.
func (s *Store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	c := Call{Op: OpTransfer, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Transferer) (leasehold.Lease, error) {
		return p.Transfer(ctx, r)
	})
}

// Find implements leasehold.Finder.
func (s *Store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	return inject(ctx, s, Call{Op: OpFind}, func(ctx context.Context, p leasehold.Finder) (leasehold.Lease, error) {
		return p.Find(ctx, id)
	})
}

// List implements leasehold.Lister.
func (s *Store) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	c := Call{Op: OpList, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Lister) (leasehold.LeasePage, error) {
		return p.List(ctx, r)
	})
}

// Waits implements leasehold.WaitLister.
func (s *Store) Waits(ctx context.Context, limit int) (leasehold.WaitList, error) {
	return inject(ctx, s, Call{Op: OpWaits}, func(ctx context.Context, p leasehold.WaitLister) (leasehold.WaitList, error) {
		return p.Waits(ctx, limit)
	})
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (s *Store) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	c := Call{Op: OpReleaseHolder, Holder: holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.HolderReleaser) (int, error) {
		return p.ReleaseHolder(ctx, holder, why)
	})
}

// ReleaseWithChildren implements leasehold.ChildReleaser.
func (s *Store) ReleaseWithChildren(ctx context.Context, holder, why string) (int, error) {
	c := Call{Op: OpReleaseHolder, Holder: holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.ChildReleaser) (int, error) {
		return p.ReleaseWithChildren(ctx, holder, why)
	})
}

// History implements leasehold.Historian.
func (s *Store) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	c := Call{Op: OpHistory, Resource: r.Resource, Holder: r.Holder}
	return inject(ctx, s, c, func(ctx context.Context, p leasehold.Historian) (leasehold.HistoryPage, error) {
		return p.History(ctx, r)
	})
}

// Cleanup implements leasehold.Cleaner.
func (s *Store) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	return inject(ctx, s, Call{Op: OpCleanup}, func(ctx context.Context, p leasehold.Cleaner) (leasehold.Cleaned, error) {
		return p.Cleanup(ctx)
	})
}

// Settings implements leasehold.Configurer.
func (s *Store) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	return inject(ctx, s, Call{Op: OpSettings}, func(ctx context.Context, p leasehold.Configurer) ([]leasehold.Setting, error) {
		return p.Settings(ctx)
	})
}

// SetSetting implements leasehold.Configurer.
func (s *Store) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	return inject(ctx, s, Call{Op: OpSetSetting}, func(ctx context.Context, p leasehold.Configurer) (leasehold.Setting, error) {
		return p.SetSetting(ctx, key, value)
	})
}

// Backup implements leasehold.Backuper.
func (s *Store) Backup(ctx context.Context, path string) error {
	_, err := inject(ctx, s, Call{Op: OpBackup}, func(ctx context.Context, p leasehold.Backuper) (struct{}, error) {
		return struct{}{}, p.Backup(ctx, path)
	})
	return err
}

// Watch implements leasehold.Watcher. A fault concerns the start and the end of
// the call, not the notices in between. An outage ends it.
func (s *Store) Watch(ctx context.Context, r leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	c := Call{Op: OpWatch, Holder: r.Holder}
	_, err := inject(ctx, s, c, func(ctx context.Context, p leasehold.Watcher) (struct{}, error) {
		return struct{}{}, p.Watch(ctx, r, each)
	})
	return err
}
