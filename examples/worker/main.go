// Worker does the jobs that nobody else is doing. Start several:
//
//	go run ./examples/worker job:1 job:2 job:3
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
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	url := cmp.Or(os.Getenv("LEASEHOLD_STORE"), "http://127.0.0.1:8105")
	if err := run(ctx, url, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, jobs []string) error {
	store, err := open.Store(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := leasehold.NewManager(store, &leasehold.Options{TTL: 30 * time.Second})
	if err != nil {
		return err
	}
	defer manager.Close(ctx)

	for _, job := range jobs {
		held, err := manager.TryAcquire(ctx, job)
		if e := (*leasehold.Error)(nil); errors.Is(err, leasehold.ErrHeld) && errors.As(err, &e) {
			fmt.Printf("%s: left to %s\n", job, e.Current.Holder)
			continue
		}
		if err != nil {
			return err
		}
		err = work(held.Context(), job, held.Token())
		// A release that finds the lease lost says so: then the work may have
		// overlapped with another's.
		if err := errors.Join(err, held.Release(ctx)); err != nil {
			return err
		}
	}
	return nil
}

// work stops when ctx ends, and sends the token with every write, so that the
// guard of the data can refuse a late worker.
func work(ctx context.Context, job string, token uint64) error {
	fmt.Printf("%s: done with token %d\n", job, token)
	return ctx.Err()
}
