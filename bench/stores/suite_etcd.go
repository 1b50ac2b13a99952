package main

import (
	"context"
	"errors"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.uber.org/zap"

	"github.com/leasehold/leasehold/internal/testserver"
)

// etcdSuite has a session for each pair, because each lease has a ttl of its own.
func etcdSuite(ctx context.Context, s *scope) ([]contender, error) {
	addr := testserver.Etcd(s).Addr
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{addr}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	s.Cleanup(func() { _ = client.Close() })
	bare := contender{"concurrency.Mutex, a session each", func(ctx context.Context, worker int) error {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(int(ttl.Seconds())), concurrency.WithContext(ctx))
		if err != nil {
			return err
		}
		mutex := concurrency.NewMutex(session, "/bare/"+resource(worker))
		if err := mutex.Lock(ctx); err != nil {
			return errors.Join(err, session.Close())
		}
		return errors.Join(mutex.Unlock(ctx), session.Close())
	}}
	ours, err := onStore(ctx, s, "store", "etcd://"+addr, nil)
	return []contender{bare, ours}, err
}
