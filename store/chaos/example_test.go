package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/chaos"
	"github.com/leasehold/leasehold/store/memory"
)

// The answer to the first acquire is lost. Asking again with the same id gives
// the lease that the lost answer was about.
func Example() {
	store := chaos.Wrap(memory.New(), &chaos.Options{
		Policy: chaos.Only(chaos.Between(1, 1, chaos.LostAnswer), chaos.OpAcquire),
	})
	defer store.Close()

	ctx := context.Background()
	request := leasehold.AcquireRequest{Resource: "printer", Holder: "me", ID: leasehold.NewID(), TTL: time.Minute}

	_, err := store.Acquire(ctx, request)
	fmt.Println("it may have happened:", errors.Is(err, leasehold.ErrUnknown))
	again, err := store.Acquire(ctx, request)
	fmt.Println("it has:", again.Idempotent, err)
	// Output:
	// it may have happened: true
	// it has: true <nil>
}

// Every operation fails while the line is down.
func ExampleStore_SetDown() {
	store := chaos.Wrap(memory.New(), nil)
	defer store.Close()

	store.SetDown(true)
	_, err := store.Status(context.Background(), "printer")
	fmt.Println(errors.Is(err, leasehold.ErrUnavailable))
	store.SetDown(false)
	_, err = store.Status(context.Background(), "printer")
	fmt.Println(err)
	// Output:
	// true
	// <nil>
}

// A third of the renewals lose their answer, every tenth call of any kind takes
// a second, and whatever concerns the printer is unavailable.
func ExamplePolicy() {
	policy := chaos.First(
		func(c chaos.Call) chaos.Fault {
			if c.Resource == "printer" {
				return chaos.Unavailable
			}
			return chaos.Fault{}
		},
		chaos.Only(chaos.WithProbability(1, 0.33, chaos.LostAnswer), chaos.OpRenew),
		chaos.Every(10, chaos.Delay(time.Second)),
	)
	store := chaos.Wrap(memory.New(), &chaos.Options{Policy: policy})
	defer store.Close()

	_, err := store.Status(context.Background(), "printer")
	fmt.Println(err)
	// Output:
	// status "printer": the store is unavailable; nothing was changed, try again later
}
