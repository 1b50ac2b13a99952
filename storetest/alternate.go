package storetest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/leasehold/leasehold"
)

// Alternate is several stores on the same data, as clients of several servers see it:
// each call goes to the next one. It has every power of a store but watching, which is
// about the store that one watches. What the stores lack is ErrUnsupported.
type Alternate struct {
	Stores []leasehold.Store
	calls  atomic.Int64
}

func (a *Alternate) next() leasehold.Store {
	return a.Stores[int(a.calls.Add(1))%len(a.Stores)]
}

// withPower calls the next store, if it has the power P.
func withPower[P, T any](a *Alternate, call func(P) (T, error)) (answer T, err error) {
	p, ok := a.next().(P)
	if !ok {
		return answer, missing
	}
	return call(p)
}

// Acquire implements leasehold.Store.
func (a *Alternate) Acquire(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return a.next().Acquire(ctx, r)
}

// Renew implements leasehold.Store.
func (a *Alternate) Renew(ctx context.Context, r leasehold.RenewRequest) (leasehold.Lease, error) {
	return a.next().Renew(ctx, r)
}

// Release implements leasehold.Store.
func (a *Alternate) Release(ctx context.Context, r leasehold.ReleaseRequest) (leasehold.Lease, error) {
	return a.next().Release(ctx, r)
}

// Status implements leasehold.Store.
func (a *Alternate) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	return a.next().Status(ctx, resource)
}

// Close closes all stores.
func (a *Alternate) Close() error {
	var errs []error
	for _, s := range a.Stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// Wait implements leasehold.Waiter.
func (a *Alternate) Wait(ctx context.Context, r leasehold.AcquireRequest) (leasehold.Grant, error) {
	return withPower(a, func(s leasehold.Waiter) (leasehold.Grant, error) { return s.Wait(ctx, r) })
}

// Change implements leasehold.Changer.
func (a *Alternate) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	return withPower(a, func(s leasehold.Changer) (leasehold.Lease, error) { return s.Change(ctx, r) })
}

// Transfer implements leasehold.Transferer.
func (a *Alternate) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	return withPower(a, func(s leasehold.Transferer) (leasehold.Lease, error) { return s.Transfer(ctx, r) })
}

// Break implements leasehold.Breaker.
func (a *Alternate) Break(ctx context.Context, r leasehold.BreakRequest) (leasehold.Lease, error) {
	return withPower(a, func(s leasehold.Breaker) (leasehold.Lease, error) { return s.Break(ctx, r) })
}

// Find implements leasehold.Finder.
func (a *Alternate) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	return withPower(a, func(s leasehold.Finder) (leasehold.Lease, error) { return s.Find(ctx, id) })
}

// List implements leasehold.Lister.
func (a *Alternate) List(ctx context.Context, r leasehold.ListRequest) (leasehold.LeasePage, error) {
	return withPower(a, func(s leasehold.Lister) (leasehold.LeasePage, error) { return s.List(ctx, r) })
}

// Waits implements leasehold.WaitLister.
func (a *Alternate) Waits(ctx context.Context, limit int) (leasehold.WaitList, error) {
	return withPower(a, func(s leasehold.WaitLister) (leasehold.WaitList, error) { return s.Waits(ctx, limit) })
}

// ReleaseHolder implements leasehold.HolderReleaser.
func (a *Alternate) ReleaseHolder(ctx context.Context, holder, why string) (int, error) {
	return withPower(a, func(s leasehold.HolderReleaser) (int, error) { return s.ReleaseHolder(ctx, holder, why) })
}

// ReleaseWithChildren implements leasehold.ChildReleaser.
func (a *Alternate) ReleaseWithChildren(ctx context.Context, holder, why string) (int, error) {
	return withPower(a, func(s leasehold.ChildReleaser) (int, error) { return s.ReleaseWithChildren(ctx, holder, why) })
}

// History implements leasehold.Historian.
func (a *Alternate) History(ctx context.Context, r leasehold.HistoryRequest) (leasehold.HistoryPage, error) {
	return withPower(a, func(s leasehold.Historian) (leasehold.HistoryPage, error) { return s.History(ctx, r) })
}

// Settings implements leasehold.Configurer.
func (a *Alternate) Settings(ctx context.Context) ([]leasehold.Setting, error) {
	return withPower(a, func(s leasehold.Configurer) ([]leasehold.Setting, error) { return s.Settings(ctx) })
}

// SetSetting implements leasehold.Configurer.
func (a *Alternate) SetSetting(ctx context.Context, key string, value any) (leasehold.Setting, error) {
	return withPower(a, func(s leasehold.Configurer) (leasehold.Setting, error) { return s.SetSetting(ctx, key, value) })
}

// Cleanup implements leasehold.Cleaner.
func (a *Alternate) Cleanup(ctx context.Context) (leasehold.Cleaned, error) {
	return withPower(a, func(s leasehold.Cleaner) (leasehold.Cleaned, error) { return s.Cleanup(ctx) })
}
