package redis

import (
	"context"
	"errors"

	"github.com/leasehold/leasehold"
	"github.com/redis/go-redis/v9"
)

// Find implements leasehold.Finder. Only live leases are found.
func (s *Store) Find(ctx context.Context, id leasehold.ID) (leasehold.Lease, error) {
	if id.IsZero() {
		return leasehold.Lease{}, opError("find", "", leasehold.Invalid("lease_id", "is missing"))
	}
	resource, err := s.resourceOf(ctx, "find", id, "")
	if err != nil {
		return leasehold.Lease{}, err
	}
	a, err := s.run(ctx, request{op: "find", resource: resource, script: statusScript, args: []any{""}})
	if err != nil {
		return leasehold.Lease{}, s.readFailure("find", "", err)
	}
	if a.row.get(leaseID) != id.Reveal() { // the index is only a hint
		return leasehold.Lease{}, notFound("find")
	}
	return a.row.owned(resource, a.now), nil
}

// resourceOf returns the resource of a request that may leave it out.
func (s *Store) resourceOf(ctx context.Context, op string, id leasehold.ID, resource string) (string, error) {
	if resource != "" {
		return resource, nil
	}
	found, err := await(ctx, s, func(ctx context.Context) (string, error) {
		if s.together {
			return s.client.Get(ctx, s.keys.id(id)).Result()
		}
		return s.client.HGet(ctx, s.keys.id(id), claimResource).Result()
	}, nil)
	switch {
	case errors.Is(err, redis.Nil):
		return "", notFound(op)
	case err != nil:
		return "", s.readFailure(op, "", err)
	}
	return found, nil
}

func notFound(op string) error {
	return &leasehold.Error{Reason: leasehold.ReasonNotFound, Op: op, Store: kind}
}
