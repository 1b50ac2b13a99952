package sqltx

import (
	"context"

	"github.com/leasehold/leasehold"
)

// Status implements leasehold.Store. It shows the waiters of this process.
func (s *Store) Status(ctx context.Context, resource string) (leasehold.Status, error) {
	status := leasehold.Status{Resource: resource}
	if err := leasehold.CheckResource(resource); err != nil {
		return status, s.failures.Invalid("status", resource, err)
	}
	f, err := s.read(ctx, "status", Need{Resource: resource})
	if err != nil {
		return status, err
	}
	if row := remembered(f.Row, f.Now); row.State != leasehold.StateAvailable {
		l := row.Lease(f.Now)
		status.Lease = &l
	}
	status.Waiters = s.queues.Waiters(resource)
	return status, nil
}

// Find implements leasehold.Finder.
func (s *Store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	if err := (leasehold.RenewRequest{ID: id}).Validate(); err != nil {
		return leasehold.Lease{}, s.failures.Invalid("find", "", err)
	}
	f, err := s.read(ctx, "find", Need{ID: id})
	if err != nil {
		return leasehold.Lease{}, err
	}
	row := remembered(f.Row, f.Now)
	if row.ID != id {
		return leasehold.Lease{}, s.failures.New("find", "", leasehold.ReasonNotFound, nil)
	}
	return row.Owned(f.Now), nil
}

// read reads without locks. A store whose leases have left has nothing to show.
func (s *Store) read(ctx context.Context, op string, n Need) (Found, error) {
	if err := s.calls.Start(op, n.Resource); err != nil {
		return Found{}, err
	}
	defer s.calls.Done()
	ctx, cancel := context.WithTimeout(ctx, s.limit)
	defer cancel()
	f, err := s.db.Read(ctx, n)
	if err != nil {
		return Found{}, s.failures.Read(ctx, op, n.Resource, err)
	}
	if cause := f.Control.Mark.at(f.Now).Refusal(false); cause != nil {
		return Found{}, s.failures.New(op, n.Resource, leasehold.ReasonUnavailable, cause)
	}
	return f, nil
}
