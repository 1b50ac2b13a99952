package redis

import (
	"context"

	"github.com/leasehold/leasehold"
)

// Change implements leasehold.Changer.
func (s *Store) Change(ctx context.Context, r leasehold.ChangeRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, opError("change", r.Resource, err)
	}
	resource, err := s.resourceOf(ctx, "change", r.ID, r.Resource)
	if err != nil {
		return leasehold.Lease{}, err
	}
	a, err := s.changeIndexed(ctx, request{op: "change", resource: resource, script: changeScript, mark: newMark(), args: []any{
		r.ID.Reveal(), r.Holder, r.Token, r.Proposed.Reveal(),
	}}, r.ID, r.Proposed)
	if err != nil {
		return leasehold.Lease{}, err
	}
	if err := s.refusal("change", resource, 0, a); err != nil {
		return leasehold.Lease{}, err
	}
	return a.row.owned(resource, a.now), nil
}

// Transfer implements leasehold.Transferer.
func (s *Store) Transfer(ctx context.Context, r leasehold.TransferRequest) (leasehold.Lease, error) {
	if err := r.Validate(); err != nil {
		return leasehold.Lease{}, opError("transfer", r.Resource, err)
	}
	resource, err := s.resourceOf(ctx, "transfer", r.ID, r.Resource)
	if err != nil {
		return leasehold.Lease{}, err
	}
	next, made := r.Proposed, r.Proposed.IsZero()
	if made {
		next = leasehold.NewID()
	}
	q := request{op: "transfer", resource: resource, script: transferScript, mark: newMark(), args: []any{
		r.ID.Reveal(), r.Holder, r.Token, next.Reveal(), flag(made), r.To, flag(r.Metadata != nil),
	}}
	for key, value := range r.Metadata {
		q.args = append(q.args, key, value)
	}
	a, err := s.changeIndexed(ctx, q, r.ID, next)
	if err != nil {
		return leasehold.Lease{}, err
	}
	if err := s.refusal("transfer", resource, 0, a); err != nil {
		return leasehold.Lease{}, err
	}
	if !made { // the new holder knows it
		return a.row.lease(resource, a.now), nil
	}
	return a.row.owned(resource, a.now), nil
}
