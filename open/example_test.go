package open_test

import (
	"context"
	"fmt"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

// A program that takes its store from a flag or the environment works on a
// laptop and behind a server without a change.
func Example() {
	ctx := context.Background()
	store, err := open.Store(ctx, "memory:", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	grant, err := store.Acquire(ctx, leasehold.AcquireRequest{Resource: "deploy:prod", Holder: "ci:42"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(grant.Resource, "is held by", grant.Holder, "with token", grant.Token)
	// Output: deploy:prod is held by ci:42 with token 1
}
