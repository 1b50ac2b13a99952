package leasehold_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/fence"
	"github.com/leasehold/leasehold/store/memory"
	"github.com/leasehold/leasehold/store/sqlite"
)

// newManager is for the examples: a program checks its errors.
func newManager(store leasehold.Store, options *leasehold.Options) *leasehold.Manager {
	manager, err := leasehold.NewManager(store, options)
	if err != nil {
		log.Fatal(err)
	}
	return manager
}

// Acquire a lease, do the work, release it. Do renews in the background and ends
// the function's context before the lease can be lost.
func ExampleManager_Do() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	manager := newManager(store, &leasehold.Options{Holder: "billing-1"})
	defer manager.Close(ctx)

	err := manager.Do(ctx, "invoices", func(ctx context.Context, held *leasehold.Held) error {
		fmt.Printf("%s holds %s with token %d\n", held.Holder(), held.Resource(), held.Token())
		return ctx.Err() // work that looks at its context can be stopped
	})
	fmt.Println("done:", err)

	// Output:
	// billing-1 holds invoices with token 1
	// done: <nil>
}

// TryAcquire requests the lease once. If it is held, the error says by whom.
func ExampleManager_TryAcquire() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	anna := newManager(store, &leasehold.Options{Holder: "anna"})
	defer anna.Close(ctx)
	ben := newManager(store, &leasehold.Options{Holder: "ben"})
	defer ben.Close(ctx)

	held, err := anna.TryAcquire(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	_, err = ben.TryAcquire(ctx, "report")
	var e *leasehold.Error
	if errors.Is(err, leasehold.ErrHeld) && errors.As(err, &e) {
		fmt.Println("ben: held by", e.Current.Holder)
	}
	fmt.Println("anna releases:", held.Release(ctx))

	// Output:
	// ben: held by anna
	// anna releases: <nil>
}

// Claim files and directories in one step, all or none. If another holder has a part,
// the error says who, and where the two overlap.
func ExampleManager_TryAcquire_paths() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	anna := newManager(store, &leasehold.Options{Holder: "anna"})
	defer anna.Close(ctx)
	ben := newManager(store, &leasehold.Options{Holder: "ben"})
	defer ben.Close(ctx)

	held, err := anna.TryAcquire(ctx, "", leasehold.AcquireOptions{
		Claims: leasehold.Paths("repo", "src/auth/**", "go.mod"),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("anna holds", held.Claims())

	_, err = ben.TryAcquire(ctx, "", leasehold.AcquireOptions{Claims: leasehold.Paths("repo", "docs/**", "src/*/login.go")})
	var e *leasehold.Error
	if errors.Is(err, leasehold.ErrHeld) && errors.As(err, &e) {
		fmt.Printf("ben: %s has %s\n", e.Current.Holder, e.Overlap.Part)
	}
	held.ReleaseWithNote(ctx, "login.go needs a test")

	next, err := ben.TryAcquire(ctx, "", leasehold.AcquireOptions{Claims: leasehold.Paths("repo", "src/auth/login.go")})
	if err != nil {
		log.Fatal(err)
	}
	for _, note := range next.Notes() {
		fmt.Printf("%s left a note: %s\n", note.From, note.Text)
	}

	// Output:
	// anna holds [repo src/auth/** repo go.mod]
	// ben: anna has src/auth/login.go
	// anna left a note: login.go needs a test
}

// Share a resource with other readers; a writer has to wait for all of them.
func ExampleManager_Acquire_shared() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	readers := leasehold.AcquireOptions{Claims: []leasehold.Claim{{Pattern: "report", Mode: leasehold.Shared}}}
	manager := newManager(store, nil)
	defer manager.Close(ctx)

	for range 2 {
		held, err := manager.Acquire(ctx, "", readers)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("reads", held.Claims()[0])
	}
	_, err := manager.TryAcquire(ctx, "report") // exclusively
	fmt.Println("a writer waits:", errors.Is(err, leasehold.ErrHeld))

	// Output:
	// reads report (shared)
	// reads report (shared)
	// a writer waits: true
}

// Wait for a lease, but not for ever.
func ExampleManager_Acquire() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	anna := newManager(store, &leasehold.Options{Holder: "anna"})
	defer anna.Close(ctx)
	ben := newManager(store, &leasehold.Options{Holder: "ben"})
	defer ben.Close(ctx)

	held, err := anna.Acquire(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}

	_, err = ben.Acquire(ctx, "report", leasehold.AcquireOptions{Timeout: 50 * time.Millisecond})
	fmt.Println("ben gave up:", errors.Is(err, leasehold.ErrTimeout))

	// The next wait ends well: the release itself wakes it.
	time.AfterFunc(50*time.Millisecond, func() { held.Release(ctx) })
	next, err := ben.Acquire(ctx, "report", leasehold.AcquireOptions{Timeout: time.Minute})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ben holds a newer token:", next.Token() > held.Token())

	// Output:
	// ben gave up: true
	// ben holds a newer token: true
}

// React to loss: the lease's context ends and its cause says why. Here an
// operator breaks the lease.
func ExampleHeld_Context() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	manager := newManager(store, &leasehold.Options{
		RenewInterval: 100 * time.Millisecond, // so that the example need not take long
	})
	defer manager.Close(ctx)

	held, err := manager.Acquire(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := store.Break(ctx, leasehold.BreakRequest{Resource: "report", Why: "wrong numbers"}); err != nil {
		log.Fatal(err)
	}

	<-held.Context().Done() // stop the work
	cause := context.Cause(held.Context())
	fmt.Println("lost:", errors.Is(cause, leasehold.ErrLost))
	fmt.Println("because:", leasehold.ReasonOf(cause))

	// Output:
	// lost: true
	// because: lease_broken
}

// Leader election: several processes wait, one leads at a time, and when it
// steps down or dies another takes over.
func ExampleManager_Lead() {
	store := memory.New()
	defer store.Close()
	ctx, stop := context.WithCancel(context.Background())
	manager := newManager(store, &leasehold.Options{Holder: "node-1"})
	defer manager.Close(context.Background())

	err := manager.Lead(ctx, "scheduler", func(ctx context.Context, held *leasehold.Held) error {
		fmt.Println(held.Holder(), "leads")
		stop() // as a signal would, when the program has to end
		<-ctx.Done()
		fmt.Println(held.Holder(), "steps down")
		return ctx.Err()
	})
	fmt.Println("stopped:", errors.Is(err, context.Canceled))

	// Output:
	// node-1 leads
	// node-1 steps down
	// stopped: true
}

// Open a store in a SQLite file. The file outlives the process: tokens go on
// where they were.
func Example_sqlite() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "leasehold")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	for range 2 { // twice, as if the program had been started again
		store, err := sqlite.Open(ctx, filepath.Join(dir, "leases.db"), nil)
		if err != nil {
			log.Fatal(err)
		}
		manager := newManager(store, nil)
		err = manager.Do(ctx, "invoices", func(_ context.Context, held *leasehold.Held) error {
			fmt.Println("token", held.Token())
			return nil
		})
		if err := errors.Join(err, manager.Close(ctx), store.Close()); err != nil {
			log.Fatal(err)
		}
	}

	// Output:
	// token 1
	// token 2
}

// A holder that was paused comes back after its lease has ended. The guard of
// the data has seen a newer token by then and refuses the old one.
func Example_fencing() {
	ctx := context.Background()
	store := memory.New()
	defer store.Close()
	anna := newManager(store, &leasehold.Options{Holder: "anna"})
	defer anna.Close(ctx)
	ben := newManager(store, &leasehold.Options{Holder: "ben"})
	defer ben.Close(ctx)

	var guard fence.Checker // where the data is
	write := func(held *leasehold.Held) error {
		return guard.Do("report", held.Token(), func() error {
			fmt.Println(held.Holder(), "writes")
			return nil
		})
	}

	old, err := anna.Acquire(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}
	// Anna's process stops here for a long time, so that an operator breaks her
	// lease and ben takes over.
	if _, err := store.Break(ctx, leasehold.BreakRequest{Resource: "report"}); err != nil {
		log.Fatal(err)
	}
	current, err := ben.Acquire(ctx, "report")
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println("ben:", write(current))
	fmt.Println("anna is refused:", errors.Is(write(old), fence.ErrStale))

	// Output:
	// ben writes
	// ben: <nil>
	// anna is refused: true
}

// Names keep teams and tenants apart, whatever their fields contain.
func ExampleName() {
	name, err := leasehold.Name{
		Environment: "prod",
		Region:      "us-east-1",
		Tenant:      "acme",
		Service:     "payment-processor",
		Resource:    "invoice:123", // the delimiter is escaped
	}.Build()
	fmt.Println(name, err)

	_, err = leasehold.Name{Environment: "prod", Service: "payment-processor"}.Build()
	fmt.Println(err)

	// Output:
	// prod:us-east-1:acme:payment-processor:invoice%3A123 <nil>
	// resource is empty; a name needs what the service works on
}

// ParseName gives the fields back.
func ExampleParseName() {
	name, err := leasehold.ParseName("prod:us-east-1:acme:payment-processor:invoice%3A123")
	fmt.Println(name.Tenant, name.Resource, err)

	// Output:
	// acme invoice:123 <nil>
}
