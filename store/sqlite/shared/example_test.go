package shared_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite/shared"
)

// Two programs of one machine, here two stores, share a file without a server.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "leasehold")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	file := filepath.Join(dir, "leases.db")

	store, err := shared.Open(ctx, file, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	other, err := shared.Open(ctx, file, nil) // in another program
	if err != nil {
		log.Fatal(err)
	}
	defer other.Close()

	manager, err := leasehold.NewManager(store, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close(ctx)
	err = manager.Do(ctx, "nightly-report", func(ctx context.Context, lease *leasehold.Held) error {
		status, err := other.Status(ctx, "nightly-report")
		if err != nil {
			return err
		}
		fmt.Println("held, token", status.Lease.Token)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output: held, token 1
}
