package etcd

import (
	"encoding/hex"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
)

// etcd logs the keys of slow requests, so no key has a lease id in it.
func TestKeysHaveNoLeaseID(t *testing.T) {
	client := newClient(t, testserver.Etcd(t).Addr)
	s := openOn(t, client, nil)
	before, after := leasehold.NewID(), leasehold.NewID()
	if _, err := s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "a", ID: before, Caller: "c"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Change(t.Context(), leasehold.ChangeRequest{ID: before, Proposed: after}); err != nil {
		t.Fatal(err)
	}
	all, err := client.Get(t.Context(), "", clientv3.WithFromKey(), clientv3.WithKeysOnly())
	if err != nil {
		t.Fatal(err)
	}
	if len(all.Kvs) < 4 {
		t.Fatalf("%d keys, want those of the lease and of both ids at least", len(all.Kvs))
	}
	for _, kv := range all.Kvs {
		for _, id := range []leasehold.ID{before, after} {
			if key := string(kv.Key); strings.Contains(key, id.Reveal()) || strings.Contains(key, hex.EncodeToString(id[:])) {
				t.Errorf("the key %q has a lease id in it", strings.ReplaceAll(key, id.Reveal(), "ID"))
			}
		}
	}
}
