package main

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/leasehold/leasehold/internal/testserver"
)

// deleteIfMine is what everybody writes for a lock in Redis.
var deleteIfMine = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) else return 0 end`)

func redisSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Redis(s).Addr
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: 64})
	s.Cleanup(func() { _ = client.Close() })
	bare := contender{"SET NX PX and a script", func(ctx context.Context, worker int) error {
		key, id := "bare:"+resource(worker), uuid.NewString()
		if ok, err := client.SetNX(ctx, key, id, ttl).Result(); err != nil || !ok {
			return errors.Join(errors.New("not set"), err)
		}
		return deleteIfMine.Run(ctx, client, []string{key}, id).Err()
	}}
	without, err := onStore(ctx, s, "store without history", "redis://"+addr+"/1?history=false", nil)
	if err != nil {
		return nil, err
	}
	with, err := onStore(ctx, s, "store with history", "redis://"+addr+"/2", nil)
	return []contender{bare, without, with}, err
}
