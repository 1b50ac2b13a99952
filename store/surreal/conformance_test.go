package surreal

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/storetest"
)

// lacking is what the store cannot do.
var lacking = powers.Lacks[storetest.Capability](powers.KindSurreal)

var lastDatabase atomic.Int64

// openOn opens a store with a database of its own, unless the options name one.
func openOn(t testing.TB, addr string, o Options) *Store {
	t.Helper()
	o.Address = addr
	if o.Database == "" {
		o.Database = fmt.Sprint("d", lastDatabase.Add(1))
	}
	return storetest.Open(t, func() (*Store, error) { return Open(t.Context(), &o) })
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	server := testserver.Surreal(t)
	var mu sync.Mutex
	databases := map[leasehold.Store]string{}
	open := func(t testing.TB, database string) leasehold.Store {
		s := openOn(t, server.Addr, Options{Database: database, Timeout: time.Minute}) // a busy machine is no outage
		mu.Lock()
		defer mu.Unlock()
		databases[s] = database
		return s
	}
	storetest.Run(t, storetest.Harness{
		Parallel: true,
		Open:     func(t testing.TB) leasehold.Store { return open(t, fmt.Sprint("suite", lastDatabase.Add(1))) },
		Reopen: func(t testing.TB, old leasehold.Store) leasehold.Store {
			must(t, old.Close())
			mu.Lock()
			database := databases[old]
			mu.Unlock()
			return open(t, database)
		},
		Queued:  func(s leasehold.Store, resource string) int { return s.(*Store).Waiting(resource) },
		Without: lacking,
	})
}
