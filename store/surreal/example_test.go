package surreal_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/surrealdb/surrealdb.go"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/surreal"
)

// address and password are a server's.
var address, password = "127.0.0.1:8000", "correct-horse"

// The connection is the store's own, and comes back after it was lost.
func ExampleOpen() {
	ctx := context.Background()
	store, err := surreal.Open(ctx, &surreal.Options{
		Address: address, Namespace: "shop", Database: "leases",
		Username: "root", Password: password,
	})
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

// The client stays yours: close it after the store.
func ExampleNew() {
	ctx := context.Background()
	db, err := surrealdb.FromEndpointURLString(ctx, "ws://"+address)
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close(ctx)
	if _, err := db.SignIn(ctx, surrealdb.Auth{Username: "root", Password: password}); err != nil {
		log.Fatal(err)
	}
	if err := db.Use(ctx, "shop", "leases"); err != nil {
		log.Fatal(err)
	}
	store, err := surreal.New(ctx, db, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	grant, err := store.Acquire(ctx, leasehold.AcquireRequest{Resource: "invoices/2026-12", Holder: "worker-1"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("token", grant.Token)
}

// The examples do what they say.
func TestExamples(t *testing.T) {
	address = testserver.Surreal(t, "--user", "root", "--pass", password).Addr
	ExampleOpen()
	ExampleNew()
	store, err := surreal.Open(t.Context(), &surreal.Options{Address: address, Namespace: "shop", Database: "leases", Username: "root", Password: password})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	page, err := store.History(t.Context(), leasehold.HistoryRequest{})
	if err != nil || len(page.Records) != 3 {
		t.Errorf("History = %d records, %v; want the grants of both examples and one release", len(page.Records), err)
	}
}
