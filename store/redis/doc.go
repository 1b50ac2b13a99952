// Package redis keeps leases in Redis 6 or later: one server, one behind
// Sentinel, or a Cluster.
//
//	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
//	store, err := leaseredis.New(client, nil)
//
// A lease is a hash at the key lease:NAME whose time to live is the lease's, so
// that Redis itself ends it. Every operation is one Lua script: one atomic step,
// one round trip, judged by the server's clock. Several programs on one Redis see
// the same leases, and a release on one wakes a waiter on another.
//
// The limits of truth: replication in Redis is asynchronous. A failover can lose
// the last writes, and with them a lease that was granted: then two holders
// believe in it at the same time until one ttl has passed, and a token may even
// repeat. Guard what matters with the token (package fence), wait for replicas
// by the server's own settings, or choose a store with consensus. The page
// docs/stores/redis.md says what holds when.
//
// A lease is on one resource: claims and notes are refused as ErrUnsupported before any
// call, and AcquireRequest.Sequence is ignored.
//
// How the package is organised:
//
//   - lua/: the rules, twin of package machine; begin.lua begins every script.
//   - script.go, call.go: how a script is run; failure.go: what an error means.
//   - keys.go: which key is what. index.go: indexes on a Cluster, where a script
//     reaches only the keys of one resource.
//   - lease.go, change.go, list.go, history.go, settings.go, wait.go: the
//     operations.
//   - sweep.go: what the store does by itself.
//   - open.go, token.go: connections and tokens that are refreshed.
package redis
