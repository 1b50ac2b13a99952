package postgres_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/postgres"
)

// The pool stays yours: close it after the store.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://app@127.0.0.1:5432/app")
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store, err := postgres.New(ctx, pool, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	manager, err := leasehold.NewManager(store, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer manager.Close(ctx)
	err = manager.Do(ctx, "invoices/2026-11", func(ctx context.Context, lease *leasehold.Held) error {
		fmt.Println("nobody else sends these invoices; token", lease.Token())
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}

// Behind PgBouncer in transaction mode: LISTEN goes to the server itself.
func ExampleOpen() {
	store, err := postgres.Open(context.Background(), &postgres.Options{
		URL:    "postgres://app@pgbouncer.example:6432/app",
		Listen: "postgres://app@postgres.example:5432/app",
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}
