// Paths claims parts of a repository, so that several agents can edit it at once:
//
//	go run ./examples/paths repo 'src/auth/**' go.mod
//
// It has all of the patterns or none. If another holder has a part of them, it says who,
// and where the two overlap. The store is $LEASEHOLD_STORE, or the server on this
// machine.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/open"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if len(os.Args) < 3 {
		log.Fatal("usage: paths NAMESPACE PATTERN…")
	}
	url := cmp.Or(os.Getenv("LEASEHOLD_STORE"), "http://127.0.0.1:8105")
	if err := run(ctx, url, leasehold.Paths(os.Args[1], os.Args[2:]...)); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url string, claims []leasehold.Claim) error {
	store, err := open.Store(ctx, url, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	manager, err := leasehold.NewManager(store, nil)
	if err != nil {
		return err
	}
	defer manager.Close(ctx)

	held, err := manager.TryAcquire(ctx, "", leasehold.AcquireOptions{Claims: claims})
	if e := (*leasehold.Error)(nil); errors.As(err, &e) && e.Overlap != nil && e.Current != nil {
		fmt.Printf("left to %s, who has %v: both cover %s\n", e.Current.Holder, e.Overlap.Held, e.Overlap.Part)
		return nil
	}
	if err != nil {
		return err
	}
	for _, note := range held.Notes() {
		fmt.Printf("%s left a note: %s\n", note.From, note.Text)
	}
	err = edit(held.Context(), held)
	return errors.Join(err, held.ReleaseWithNote(ctx, "edited, not yet reviewed"))
}

// edit stops when ctx ends: then another holder may have the paths.
func edit(ctx context.Context, held *leasehold.Held) error {
	for _, claim := range held.Claims() {
		fmt.Printf("editing %s with token %d\n", claim.Pattern, held.Token())
	}
	return ctx.Err()
}
