package remote_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/remote"
)

// A server's store is used like any other.
func ExampleOpen() {
	store, err := remote.Open("http://127.0.0.1:8105", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	grant, err := store.Acquire(context.Background(), leasehold.AcquireRequest{Resource: "deploy:prod", Holder: "ci:42"})
	if errors.Is(err, leasehold.ErrHeld) {
		fmt.Println("somebody else deploys:", err)
		return
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("ours, with the fencing token", grant.Token)
	_, _ = store.Release(context.Background(), leasehold.ReleaseRequest{ID: grant.ID, Resource: grant.Resource})
}
