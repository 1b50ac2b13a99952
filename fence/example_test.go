package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/leasehold/leasehold/fence"
	_ "modernc.org/sqlite"
)

// The guard of some data keeps a Checker beside it. Anna's write was held up on
// its way; by the time it arrives Ben holds the lease and has written.
func ExampleChecker() {
	var guard fence.Checker
	report := "empty"

	write := func(who string, token uint64) {
		err := guard.Do("report", token, func() error {
			report = "by " + who
			return nil
		})
		fmt.Printf("%s with token %d: %v\n", who, token, err)
	}

	// Anna was granted token 33 and is paused; the lease expires.
	write("Ben", 34) // the next holder
	write("Anna", 33)

	fmt.Println(report)
	// Output:
	// Ben with token 34: <nil>
	// Anna with token 33: stale fencing token 33 for "report": 34 has been seen, so a newer holder is at work
	// by Ben
}

// In a database the check is part of the transaction that writes.
func ExampleSQL() {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	if _, err := db.Exec(fence.Schema + "CREATE TABLE balance (cents INTEGER); INSERT INTO balance VALUES (0)"); err != nil {
		log.Fatal(err)
	}

	pay := func(ctx context.Context, token uint64, cents int) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() // does nothing after Commit
		if err := fence.SQLite.Check(ctx, tx, "balance", token); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE balance SET cents = cents + ?", cents); err != nil {
			return err
		}
		return tx.Commit()
	}

	fmt.Println(pay(context.Background(), 34, 500))
	err = pay(context.Background(), 33, 700) // a paused holder wakes up
	fmt.Println(errors.Is(err, fence.ErrStale))
	// Output:
	// <nil>
	// true
}
