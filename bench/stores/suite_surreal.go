package main

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/surrealdb/surrealdb.go"

	"github.com/leasehold/leasehold/internal/testserver"
)

// What everybody writes for a lock in SurrealDB.
const (
	bareSurrealTable = `DEFINE TABLE bare SCHEMAFULL; DEFINE FIELD lease ON bare TYPE string;
		DEFINE FIELD holder ON bare TYPE string; DEFINE FIELD ends ON bare TYPE datetime`
	bareSurrealTake = `BEGIN; LET $old = (SELECT ends FROM ONLY type::record('bare', $resource));
		IF $old != NONE AND $old.ends > time::now() { THROW 'held' };
		UPSERT type::record('bare', $resource) SET lease = $id, holder = 'bench', ends = time::now() + 30s RETURN NONE; COMMIT`
	bareSurrealEnd = `DELETE type::record('bare', $resource) WHERE lease = $id RETURN BEFORE`
)

func surrealSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Surreal(s).Addr
	db, err := surrealdb.FromEndpointURLString(ctx, "ws://"+addr)
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() { _ = db.Close(context.Background()) })
	if err := db.Use(ctx, "bare", "bare"); err != nil {
		return nil, err
	}
	if _, err := surrealdb.Query[any](ctx, db, bareSurrealTable, nil); err != nil {
		return nil, err
	}
	bare := contender{"two statements", func(ctx context.Context, worker int) error {
		values := map[string]any{"resource": resource(worker), "id": uuid.NewString()}
		if _, err := surrealdb.Query[any](ctx, db, bareSurrealTake, values); err != nil {
			return err
		}
		deleted, err := surrealdb.Query[[]map[string]any](ctx, db, bareSurrealEnd, values)
		if err == nil && len((*deleted)[0].Result) != 1 {
			err = errors.New("nothing was deleted")
		}
		return err
	}}
	ours, err := onStore(ctx, s, "store", "surreal://"+addr+"/leasehold/leases", nil)
	return []contender{bare, ours}, err
}
