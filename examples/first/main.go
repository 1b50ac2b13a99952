// First acquires a lease in an embedded SQLite file, works under it and releases
// it. Run it again and see the token grow: the file remembers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqlite"
)

func main() {
	if err := run(context.Background(), filepath.Join(os.TempDir(), "leasehold-first.db")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, file string) error {
	store, err := sqlite.Open(ctx, file, nil)
	if err != nil {
		return err
	}
	defer store.Close()

	manager, err := leasehold.NewManager(store, nil)
	if err != nil {
		return err
	}
	defer manager.Close(ctx)

	return manager.Do(ctx, "invoices", func(ctx context.Context, held *leasehold.Held) error {
		fmt.Printf("%s holds %q with token %d\n", held.Holder(), held.Resource(), held.Token())
		return nil // your work: it stops when ctx ends, and sends the token along with every write
	})
}
