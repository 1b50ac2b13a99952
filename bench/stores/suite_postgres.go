package main

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold/internal/testserver"
)

// What everybody writes for a lock in PostgreSQL.
const (
	bareTable  = `CREATE TABLE bare (resource text PRIMARY KEY, id text NOT NULL, holder text NOT NULL, ends timestamptz NOT NULL)`
	bareInsert = `INSERT INTO bare VALUES ($1, $2, 'bench', clock_timestamp() + $3::interval) ON CONFLICT (resource) DO UPDATE
		SET id = excluded.id, holder = excluded.holder, ends = excluded.ends WHERE bare.ends <= clock_timestamp()`
	bareDelete = `DELETE FROM bare WHERE resource = $1 AND id = $2`
)

// postgresSuite has a server that waits for the disk, as it does by default.
func postgresSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Postgres(s, "-c", "fsync=on").Addr
	url := testserver.PostgresURL(addr, "postgres")
	pool, err := pgxpool.New(ctx, url+"&pool_max_conns=16")
	if err != nil {
		return nil, err
	}
	s.Cleanup(pool.Close)
	if _, err := pool.Exec(ctx, bareTable); err != nil {
		return nil, err
	}
	bare := contender{"INSERT … ON CONFLICT and DELETE", func(ctx context.Context, worker int) error {
		id := uuid.NewString()
		done, err := pool.Exec(ctx, bareInsert, resource(worker), id, ttl)
		if err == nil && done.RowsAffected() == 1 {
			done, err = pool.Exec(ctx, bareDelete, resource(worker), id)
		}
		if err == nil && done.RowsAffected() != 1 {
			err = errors.New("nothing was changed")
		}
		return err
	}}
	without, err := onStore(ctx, s, "store without history", url+"&schema=without&history=false", nil)
	if err != nil {
		return nil, err
	}
	with, err := onStore(ctx, s, "store with history", url+"&schema=with_history", nil)
	return []contender{bare, without, with}, err
}
