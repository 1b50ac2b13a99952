// Package etcd keeps leases in etcd 3.4 or later.
//
//	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
//	store, err := etcd.New(ctx, client, nil)
//
// A lease is a key under the prefix, bound to an etcd lease, so that etcd itself
// ends it. Every change is one transaction that needs the key to be as it was
// read, and writes the index by id and the history record with it. Several programs
// on one cluster see the same leases, and a release on one wakes a waiter on
// another by etcd's watch.
//
// The limits of truth: etcd has consensus, so that a failover loses nothing that
// was acknowledged, and there are never two holders by etcd's own account. It has
// no clock that can be read: a lease that is there is live, and one that has ended
// is gone, without a record of the end. etcd's leases last whole seconds, at least
// two; a fraction is rounded up, and the holder is told only what it requested. A
// change of the leader restarts the time of every lease, so that leases then end
// late, never early. The page docs/stores/etcd.md says what holds when.
//
// How the package is organised:
//
//   - backend.go: what package cas needs, transaction.go: the one write.
//   - keys.go, value.go: what stands where. People may read it.
//   - lessor.go: etcd's leases, which end the keys.
//   - record.go, history.go, purge.go: the history and its numbers.
//   - state.go, move.go, copy.go: leases that move from and to other stores.
//   - doubt.go: lost answers. failure.go: what an error means.
//   - options.go, open.go, login.go: connections.
package etcd
