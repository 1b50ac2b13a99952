package redis_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log"
	"time"

	"github.com/leasehold/leasehold"
	leaseredis "github.com/leasehold/leasehold/store/redis"
	"github.com/redis/go-redis/v9"
)

// The client stays yours: close it after the store.
func Example() {
	ctx := context.Background()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer client.Close()
	store, err := leaseredis.New(client, nil)
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

// Entra ID: the user name is the object id of the identity, and the token comes
// from a credential of package azidentity.
func ExampleOpen_token() {
	credential := func(ctx context.Context) (string, time.Time, error) {
		// token, err := credential.GetToken(ctx, policy.TokenRequestOptions{
		//	Scopes: []string{"https://redis.azure.com/.default"},
		// })
		// return token.Token, token.ExpiresOn, err
		return "token", time.Now().Add(time.Hour), nil
	}
	store, err := leaseredis.Open(context.Background(), &leaseredis.Options{
		Addrs:    []string{"cache.redis.cache.windows.net:6380"},
		Username: "00000000-0000-0000-0000-000000000000",
		Token:    credential,
		TLS:      &tls.Config{MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
}
