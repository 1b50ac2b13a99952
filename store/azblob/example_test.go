package azblob_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/content"
	"github.com/leasehold/leasehold/azure/server"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
	"github.com/leasehold/leasehold/store/sqlite"
)

// A lease of a storage account. In production the account is reached by its URL
// and a credential: ServiceURL and Credential instead of the ConnectionString.
func Example() {
	connection, stop, err := startAccount()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	if err := nightlyReport(context.Background(), connection); err != nil {
		fmt.Println(err)
	}
	// Output: writing the report
}

func nightlyReport(ctx context.Context, connection string) error {
	store, err := azblob.Open(ctx, &azblob.Options{ConnectionString: connection})
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := leasehold.NewManager(store, nil)
	if err != nil {
		return err
	}
	defer manager.Close(ctx)
	return manager.Do(ctx, "nightly-report", func(ctx context.Context, held *leasehold.Held) error {
		fmt.Println("writing the report") // show held.Token() with each write
		return nil
	}, leasehold.AcquireOptions{TTL: 30 * time.Second})
}

// startAccount starts a storage account of our own.
func startAccount() (connection string, stop func(), _ error) {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "azblob")
	if err != nil {
		return "", nil, err
	}
	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), &sqlite.Options{Modules: []engine.Module{catalog.Module()}})
	if err != nil {
		return "", nil, err
	}
	bytes, err := content.Open(filepath.Join(dir, "blobs"), nil)
	if err != nil {
		return "", nil, err
	}
	rows, err := catalog.Open(ctx, store, bytes, nil)
	if err != nil {
		return "", nil, err
	}
	s := httptest.NewServer(server.New(rows, nil).Handler())
	return testserver.AzuriteConnection(s.Listener.Addr().String()), func() {
		s.Close()
		rows.Close()
		bytes.Close()
		store.Close()
		os.RemoveAll(dir)
	}, nil
}
