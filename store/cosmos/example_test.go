package cosmos_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cosmos"
)

// Leases in Cosmos DB, by the account's connection string.
func Example() {
	ctx := context.Background()
	store, err := cosmos.Open(ctx, &cosmos.Options{
		ConnectionString: os.Getenv("COSMOS_CONNECTION_STRING"),
		Database:         "leasehold",
		Container:        "leases",
		Partition:        cosmos.ByTenant,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	manager, err := leasehold.NewManager(store, &leasehold.Options{TTL: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close(ctx)

	err = manager.Do(ctx, "prod:eu:acme:invoices:nightly", func(ctx context.Context, held *leasehold.Held) error {
		fmt.Println("only one at a time; token", held.Token())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
