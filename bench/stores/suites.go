package main

import (
	"context"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

const ttl = 30 * time.Second

// suites start a server and return the contenders on it, the bare client first.
var suites = map[string]func(context.Context, *scope) ([]contender, error){
	"redis": redisSuite, "postgres": postgresSuite, "etcd": etcdSuite, "surreal": surrealSuite, "sqlite": sqliteSuite, "sqlite-shared": sharedSuite, "azblob": azblobSuite, "cosmos": cosmosSuite,
}

// onStore is the contender that is the store at the URL.
func onStore(ctx context.Context, s *scope, name, url string, o *open.Options) (contender, error) {
	store, err := open.Store(ctx, url, o)
	if err != nil {
		return contender{}, err
	}
	s.Cleanup(func() { _ = store.Close() })
	return contender{name, func(ctx context.Context, worker int) error {
		grant, err := store.Acquire(ctx, leasehold.AcquireRequest{Resource: resource(worker), Holder: "bench", TTL: ttl})
		if err != nil {
			return err
		}
		_, err = store.Release(ctx, leasehold.ReleaseRequest{ID: grant.ID, Resource: grant.Resource})
		return err
	}}, nil
}

func resource(worker int) string { return fmt.Sprintf("bench:%d", worker) }
