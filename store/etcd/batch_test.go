package etcd

import (
	"fmt"
	"strings"
	"testing"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/machine"
	"github.com/leasehold/leasehold/store/cas"
)

// etcd refuses a request of more than 1.5 MB. Each of these is small enough.
func TestLargeTransactionsTogether(t *testing.T) {
	s := openOn(t, newClient(t, testserver.Etcd(t).Addr), nil)
	metadata := map[string]string{}
	for i := range 7 { // in JSON each of these characters takes six
		metadata[fmt.Sprint("k", i)] = strings.Repeat("<", leasehold.MaxMetadataValue)
	}
	var batch []*transaction
	for i := range maxBatch {
		row := machine.Row{
			Resource: fmt.Sprint(strings.Repeat("<", 1000), i), Holder: strings.Repeat("<", leasehold.MaxHolder), ID: leasehold.NewID(),
			State: leasehold.StateActive, TTL: leasehold.Infinite, Ends: machine.Never, Metadata: metadata,
		}
		one := &transaction{backend: s.backend, state: s.backend.store.Load(), write: cas.Write{
			Row: row, Marks: []string{newMark()},
			Records: []cas.Record{{Record: leasehold.Record{Kind: leasehold.KindAcquired, Resource: row.Resource, Holder: row.Holder}, Kept: true}},
		}}
		one.build()
		batch = append(batch, one)
	}
	for _, c := range s.backend.commitBatch(t.Context(), batch) {
		if c.err != nil {
			t.Fatalf("commit = %v, want each to be committed", c.err)
		}
	}
}
