package etcd_test

import (
	"context"
	"fmt"
	"log"

	"go.etcd.io/etcd/client/v3"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/etcd"
)

// The client stays yours: close it after the store.
func Example() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{"127.0.0.1:2379"}})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	store, err := etcd.New(ctx, client, nil)
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
