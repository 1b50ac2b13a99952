package fence

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
)

// openDB opens a fresh SQLite file with the fence's table. Transactions take
// the write lock at once, as a guard's should: a deferred one that reads first
// may be refused at its first write.
func openDB(t *testing.T) *sql.DB {
	t.Helper()
	file := filepath.Join(t.TempDir(), "guarded.db")
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for range 2 { // running it again is no error
		if _, err := db.Exec(Schema); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// inTx runs f in a transaction that commits unless f fails.
func inTx(t *testing.T, db *sql.DB, f func(*sql.Tx) error) error {
	t.Helper()
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := f(tx); err != nil {
		if back := tx.Rollback(); back != nil {
			t.Errorf("Rollback = %v, want nil", back)
		}
		return err
	}
	return tx.Commit()
}

// Both dialects run here: SQLite understands numbered parameters too.
func TestSQLKeepsTheHighest(t *testing.T) {
	for name, dialect := range map[string]*SQL{"SQLite": SQLite, "Postgres": Postgres} {
		t.Run(name, func(t *testing.T) {
			db, ctx := openDB(t), t.Context()
			steps := []struct {
				resource string
				token    uint64
				want     error
			}{
				{"a", 5, nil},
				{"a", 5, nil},
				{"a", 4, &StaleError{Resource: "a", Token: 4, Seen: 5}},
				{"b", 4, nil},
				{"x'; DROP TABLE lease_fence; --", 1, nil},
				{"a", MaxToken, nil},
				{"a", 6, &StaleError{Resource: "a", Token: 6, Seen: MaxToken}},
			}
			for i, s := range steps {
				err := inTx(t, db, func(tx *sql.Tx) error { return dialect.Check(ctx, tx, s.resource, s.token) })
				if !cmp.Equal(err, s.want) {
					t.Errorf("step %d: Check(%q, %d) = %v, want %v", i, s.resource, s.token, err, s.want)
				}
			}
		})
	}
}

func TestSQLRefusesWhatIsNoToken(t *testing.T) {
	db := openDB(t)
	for _, token := range []uint64{0, MaxToken + 1, 1<<64 - 1} {
		err := inTx(t, db, func(tx *sql.Tx) error { return SQLite.Check(t.Context(), tx, "a", token) })
		if !errors.Is(err, ErrToken) {
			t.Errorf("Check(a, %d) = %v, want ErrToken", token, err)
		}
	}
}

// A token is seen only if its transaction commits: what was rolled back was
// not written either.
func TestSQLForgetsWhatIsRolledBack(t *testing.T) {
	db, ctx := openDB(t), t.Context()
	undo := errors.New("changed my mind")
	err := inTx(t, db, func(tx *sql.Tx) error {
		if err := SQLite.Check(ctx, tx, "a", 9); err != nil {
			return err
		}
		return undo
	})
	if err != undo {
		t.Fatalf("transaction = %v, want %v", err, undo)
	}
	err = inTx(t, db, func(tx *sql.Tx) error {
		if got, err := SQLite.Seen(ctx, tx, "a"); got != 0 || err != nil {
			t.Errorf("Seen(a) = %d, %v, want 0, nil", got, err)
		}
		return SQLite.Check(ctx, tx, "a", 8)
	})
	if err != nil {
		t.Errorf("Check(a, 8) = %v, want nil", err)
	}
}

func TestSQLReportsDatabaseErrors(t *testing.T) {
	db := openDB(t)
	if _, err := db.Exec("DROP TABLE lease_fence"); err != nil {
		t.Fatal(err)
	}
	err := inTx(t, db, func(tx *sql.Tx) error { return SQLite.Check(t.Context(), tx, "a", 1) })
	if err == nil || errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "lease_fence") {
		t.Errorf("Check without the table = %v, want an error that names it", err)
	}
	err = inTx(t, db, func(tx *sql.Tx) error { _, err := SQLite.Seen(t.Context(), tx, "a"); return err })
	if err == nil {
		t.Error("Seen without the table = nil, want an error")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = inTx(t, db, func(tx *sql.Tx) error { return SQLite.Check(ended, tx, "a", 1) })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Check with an ended context = %v, want context.Canceled", err)
	}
}

// Many writers with tokens in no order: what is written last is from the
// highest token, whoever commits when.
func TestSQLUnderLoad(t *testing.T) {
	db, ctx := openDB(t), t.Context()
	if _, err := db.Exec("CREATE TABLE guarded (value INTEGER); INSERT INTO guarded VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	const writers = 16
	var wg sync.WaitGroup
	for i := range writers {
		token := uint64(i*7%writers) + 1
		wg.Go(func() {
			err := inTx(t, db, func(tx *sql.Tx) error {
				if err := SQLite.Check(ctx, tx, "a", token); err != nil {
					return err
				}
				_, err := tx.Exec("UPDATE guarded SET value = ?", int64(token))
				return err
			})
			if err != nil && !errors.Is(err, ErrStale) {
				t.Errorf("write with token %d = %v, want nil or ErrStale", token, err)
			}
		})
	}
	wg.Wait()
	var value int64
	if err := db.QueryRow("SELECT value FROM guarded").Scan(&value); err != nil || value != writers {
		t.Errorf("the last write was by token %d (%v), want %d", value, err, writers)
	}
}
