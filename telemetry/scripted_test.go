package telemetry_test

import (
	"context"

	"github.com/leasehold/leasehold"
)

// plainStore has no powers beyond those of every store.
type plainStore struct{ s *scriptedStore }

func (p plainStore) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return p.s.Acquire(ctx, r)
}

func (p plainStore) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	return p.s.Renew(ctx, r)
}

func (p plainStore) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return p.s.Release(ctx, r)
}

func (p plainStore) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	return p.s.Status(ctx, resource)
}

func (p plainStore) Close() error { return p.s.Close() }

// scriptedStore has every power and answers what it is told. Its hook, if any,
// decides about each call.
type scriptedStore struct {
	err   error
	grant leasehold.Grant
	hook  func(ctx context.Context, operation string) error
}

func (s *scriptedStore) answer(ctx context.Context, operation string) error {
	if s.hook != nil {
		return s.hook(ctx, operation)
	}
	return s.err
}

func (s *scriptedStore) lease(ctx context.Context, operation string) (leasehold.Lease, error) {
	if err := s.answer(ctx, operation); err != nil {
		return leasehold.Lease{}, err
	}
	return s.grant.Lease, nil
}

func (s *scriptedStore) acquire(ctx context.Context, operation string) (leasehold.Grant, error) {
	if err := s.answer(ctx, operation); err != nil {
		return leasehold.Grant{}, err
	}
	return s.grant, nil
}

func (s *scriptedStore) Acquire(ctx context.Context, _ leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.acquire(ctx, "acquire")
}

func (s *scriptedStore) Wait(ctx context.Context, _ leasehold.AcquireRequest) (leasehold.Grant, error) {
	return s.acquire(ctx, "wait")
}

func (s *scriptedStore) Renew(ctx context.Context, _ leasehold.RenewRequest) (leasehold.Lease, error) {
	return s.lease(ctx, "renew")
}

func (s *scriptedStore) Release(ctx context.Context, _ leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return s.lease(ctx, "release")
}

func (s *scriptedStore) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	return leasehold.Status{Resource: resource, Lease: &s.grant.Lease}, s.answer(ctx, "status")
}

func (s *scriptedStore) Break(ctx context.Context, _ leasehold.BreakRequest) (leasehold.Lease, error) {
	return s.lease(ctx, "break")
}

func (s *scriptedStore) Change(ctx context.Context, _ leasehold.ChangeRequest) (leasehold.Lease, error) {
	return s.lease(ctx, "change")
}

func (s *scriptedStore) Transfer(ctx context.Context, _ leasehold.TransferRequest) (leasehold.Lease, error) {
	return s.lease(ctx, "transfer")
}

func (s *scriptedStore) Find(ctx context.Context, _ leasehold.ID) (leasehold.Lease, error) {
	return s.lease(ctx, "find")
}

func (s *scriptedStore) List(ctx context.Context, _ leasehold.ListRequest) (leasehold.LeasePage, error) {
	return leasehold.LeasePage{Cursor: "list"}, s.answer(ctx, "list")
}

func (s *scriptedStore) Waits(ctx context.Context, _ int) (leasehold.WaitList, error) {
	return leasehold.WaitList{Total: 4}, s.answer(ctx, "waits")
}

func (s *scriptedStore) ReleaseWithChildren(ctx context.Context, _, _ string) (int, error) {
	return 8, s.answer(ctx, "release_holder")
}

func (s *scriptedStore) ReleaseHolder(ctx context.Context, _, _ string) (int, error) {
	return 7, s.answer(ctx, "release_holder")
}

func (s *scriptedStore) History(ctx context.Context, _ leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	return leasehold.HistoryPage{Cursor: "history"}, s.answer(ctx, "history")
}

func (s *scriptedStore) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	return leasehold.Cleaned{Expired: 3}, s.answer(ctx, "cleanup")
}

func (s *scriptedStore) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	return []leasehold.Setting{{Key: "all"}}, s.answer(ctx, "settings")
}

func (s *scriptedStore) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	return leasehold.Setting{Key: key, Value: value}, s.answer(ctx, "set_setting")
}

func (s *scriptedStore) Backup(ctx context.Context, _ string) error { return s.answer(ctx, "backup") }

func (s *scriptedStore) Watch(ctx context.Context, _ leasehold.WatchRequest, each func(leasehold.Notice) error) error {
	if err := s.answer(ctx, "watch"); err != nil {
		return err
	}
	return each(leasehold.Notice{Record: leasehold.Record{Seq: 5}})
}

func (s *scriptedStore) Close() error { return s.answer(context.Background(), "close") }

// scriptedCalls are all methods that telemetry records. Each returns part of the
// answer, which must pass unchanged.
var scriptedCalls = []struct {
	operation, span string
	named           bool // its span names the lease
	call            func(context.Context, leasehold.Store) (any, error)
	want            any
}{
	{"acquire", "Lease.TryAcquire", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		g, err := s.Acquire(ctx, scriptedRequest)
		return g.Token, err
	}, uint64(9)},
	{"wait", "Lease.Acquire", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		g, err := s.(leasehold.Waiter).Wait(ctx, scriptedRequest)
		return g.Token, err
	}, uint64(9)},
	{"renew", "Lease.Renew", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		l, err := s.Renew(ctx, leasehold.RenewRequest{ID: scriptedRequest.ID, Resource: scriptedRequest.Resource, Holder: "h", Token: 9})
		return l.Token, err
	}, uint64(9)},
	{"release", "Lease.Release", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		l, err := s.Release(ctx, leasehold.ReleaseRequest{ID: scriptedRequest.ID, Resource: scriptedRequest.Resource, Holder: "h", Token: 9})
		return l.Token, err
	}, uint64(9)},
	{"status", "Lease.Status", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		status, err := s.Status(ctx, scriptedRequest.Resource)
		return status.Resource, err
	}, scriptedRequest.Resource},
	{"break", "Lease.Break", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		l, err := s.(leasehold.Breaker).Break(ctx, leasehold.BreakRequest{Resource: scriptedRequest.Resource})
		return l.Token, err
	}, uint64(9)},
	{"change", "Lease.Change", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		l, err := s.(leasehold.Changer).Change(ctx, leasehold.ChangeRequest{ID: scriptedRequest.ID, Resource: scriptedRequest.Resource, Proposed: scriptedRequest.ID})
		return l.Token, err
	}, uint64(9)},
	{"transfer", "Lease.Transfer", true, func(ctx context.Context, s leasehold.Store) (any, error) {
		l, err := s.(leasehold.Transferer).Transfer(ctx, leasehold.TransferRequest{ID: scriptedRequest.ID, Resource: scriptedRequest.Resource, To: "i"})
		return l.Token, err
	}, uint64(9)},
	{"find", "Lease.Find", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		l, err := s.(leasehold.Finder).Find(ctx, scriptedRequest.ID)
		return l.Token, err
	}, uint64(9)},
	{"list", "Lease.List", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		page, err := s.(leasehold.Lister).List(ctx, leasehold.ListRequest{})
		return page.Cursor, err
	}, "list"},
	{"waits", "Lease.Waits", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		list, err := s.(leasehold.WaitLister).Waits(ctx, 0)
		return list.Total, err
	}, 4},
	{"release_holder", "Lease.ReleaseHolder", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		return s.(leasehold.HolderReleaser).ReleaseHolder(ctx, "h", "")
	}, 7},
	{"release_holder", "Lease.ReleaseHolder", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		return s.(leasehold.ChildReleaser).ReleaseWithChildren(ctx, "h", "")
	}, 8},
	{"history", "Lease.History", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		page, err := s.(leasehold.Historian).History(ctx, leasehold.HistoryRequest{})
		return page.Cursor, err
	}, "history"},
	{"cleanup", "Lease.Cleanup", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		cleaned, err := s.(leasehold.Cleaner).Cleanup(ctx)
		return cleaned.Expired, err
	}, 3},
	{"settings", "Lease.Settings", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		settings, err := s.(leasehold.Configurer).Settings(ctx)
		return len(settings), err
	}, 1},
	{"set_setting", "Lease.SetSetting", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		setting, err := s.(leasehold.Configurer).SetSetting(ctx, "k", 1)
		return setting.Key, err
	}, "k"},
	{"backup", "Lease.Backup", false, func(ctx context.Context, s leasehold.Store) (any, error) {
		return nil, s.(leasehold.Backuper).Backup(ctx, "path")
	}, nil},
}
