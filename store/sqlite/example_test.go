package sqlite_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
)

// Open a store in a file, acquire a lease, and release it.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "leasehold")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	grant, err := store.Acquire(ctx, leasehold.AcquireRequest{
		Resource: "invoice-batch-123", Holder: "worker-1", TTL: time.Minute,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s holds %s with token %d\n", grant.Holder, grant.Resource, grant.Token)

	if _, err := store.Release(ctx, leasehold.ReleaseRequest{ID: grant.ID}); err != nil {
		log.Fatal(err)
	}
	// Output: worker-1 holds invoice-batch-123 with token 1
}

// Copy a store while it runs, and restore the copy somewhere else.
func ExampleRestore() {
	dir, err := os.MkdirTemp("", "leasehold")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	backup, restored := filepath.Join(dir, "backup.db"), filepath.Join(dir, "restored.db")

	store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	if err := store.Backup(ctx, backup); err != nil {
		log.Fatal(err)
	}

	if err := sqlite.Restore(ctx, backup, restored, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println("restored")
	// Output: restored
}
