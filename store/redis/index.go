package redis

import (
	"context"

	"github.com/leasehold/leasehold"
)

const claimResource = "resource"

func (s *Store) acquireIndexed(ctx context.Context, q request, r leasehold.AcquireRequest, id leasehold.ID, made bool) (answer, error) {
	return s.do(ctx, q)
}

func (s *Store) renewIndexed(ctx context.Context, q request, id leasehold.ID) (answer, error) {
	return s.do(ctx, q)
}

func (s *Store) changeIndexed(ctx context.Context, q request, from, to leasehold.ID) (answer, error) {
	return s.do(ctx, q)
}

func (s *Store) endIndexed(ctx context.Context, resource string, a answer) {}

func (s *Store) breakIndexed(ctx context.Context, resource string, a answer) {}

func (s *Store) listStepApart(ctx context.Context, from, to string, n int) (listPart, error) {
	return listPart{}, nil
}
