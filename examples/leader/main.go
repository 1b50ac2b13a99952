// Leader is one of several processes of which one at a time does the work.
// Start two, and end the one that leads:
//
//	go run ./examples/leader node-1
//	go run ./examples/leader node-2
//
// The store is $LEASEHOLD_STORE, or the server on this machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: leader NAME")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	url := cmp.Or(os.Getenv("LEASEHOLD_STORE"), "http://127.0.0.1:8105")
	if err := run(ctx, url, os.Args[1]); err != nil && !errors.Is(err, context.Canceled) {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, name string) error {
	store, err := open.Store(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := leasehold.NewManager(store, &leasehold.Options{Holder: name, TTL: 15 * time.Second})
	if err != nil {
		return err
	}
	defer manager.Close(ctx)

	return manager.Lead(ctx, "example:leader", func(ctx context.Context, held *leasehold.Held) error {
		fmt.Printf("%s leads with token %d\n", held.Holder(), held.Token())
		<-ctx.Done() // the work of a leader; it must stop when ctx ends
		fmt.Printf("%s steps down\n", held.Holder())
		return ctx.Err()
	})
}
