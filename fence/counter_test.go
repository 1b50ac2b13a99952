package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/fence"
	"github.com/leasehold/leasehold/store/memory"
)

// counter is a service that keeps a number. Its clients read it, think, and
// write it back, under a lease that the service itself knows nothing of.
type counter interface {
	read(token uint64) (int, error)
	write(token uint64, value int) error
}

// unguarded believes everybody.
type unguarded struct {
	mu    sync.Mutex
	value int
}

func (c *unguarded) read(uint64) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.value, nil
}

func (c *unguarded) write(_ uint64, value int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.value = value
	return nil
}

// writesOnly checks the token of writes and forgets about reads.
type writesOnly struct {
	unguarded
	guard fence.Checker
}

func (c *writesOnly) write(token uint64, value int) error {
	return c.guard.Do("counter", token, func() error { return c.unguarded.write(token, value) })
}

// guarded checks the token of both.
type guarded struct{ writesOnly }

func (c *guarded) read(token uint64) (value int, err error) {
	err = c.guard.Do("counter", token, func() error { value, err = c.unguarded.read(token); return err })
	return value, err
}

// inSQL keeps the number in a table and checks the token in each transaction.
type inSQL struct{ db *sql.DB }

func newInSQL(t *testing.T) *inSQL {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "counter.db")+"?_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(fence.Schema + "CREATE TABLE counter (value INTEGER); INSERT INTO counter VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	return &inSQL{db}
}

func (c *inSQL) inTx(token uint64, f func(*sql.Tx) error) error {
	tx, err := c.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fence.SQLite.Check(context.Background(), tx, "counter", token); err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (c *inSQL) read(token uint64) (value int, err error) {
	err = c.inTx(token, func(tx *sql.Tx) error { return tx.QueryRow("SELECT value FROM counter").Scan(&value) })
	return value, err
}

func (c *inSQL) write(token uint64, value int) error {
	return c.inTx(token, func(tx *sql.Tx) error { _, err := tx.Exec("UPDATE counter SET value = ?", value); return err })
}

// queueing is a store in whose queue one can wait.
type queueing interface {
	leasehold.Store
	leasehold.Waiter
}

const (
	workers    = 5
	increments = 8
	ttl        = 10 * time.Second
	workTime   = time.Second
)

// worker adds one to the counter, again and again, each time under a lease of
// its own. Every third time it is paused between reading and writing, for a
// little longer than its lease lasts, and goes on as if nothing had happened:
// what it does not know it cannot act on. Updates that the counter refused are
// done over, so what it returns is what was acknowledged.
func worker(ctx context.Context, store queueing, c counter, holder string) (acknowledged int, err error) {
	for try := 0; acknowledged < increments; try++ {
		grant, err := store.Wait(ctx, leasehold.AcquireRequest{
			Resource: "counter", Holder: holder, TTL: ttl, Timeout: leasehold.NoTimeout,
		})
		if err != nil {
			return acknowledged, err
		}
		pause := workTime
		if try%3 == 0 {
			pause = ttl + workTime/2
		}
		switch err := addOne(c, grant.Token, pause); {
		case err == nil:
			acknowledged++
		case !errors.Is(err, fence.ErrStale):
			return acknowledged, err
		}
		_, err = store.Release(ctx, leasehold.ReleaseRequest{ID: grant.ID, Resource: "counter"})
		if err != nil && !errors.Is(err, leasehold.ErrLost) && !errors.Is(err, leasehold.ErrNotFound) {
			return acknowledged, err
		}
	}
	return acknowledged, nil
}

func addOne(c counter, token uint64, pause time.Duration) error {
	value, err := c.read(token)
	if err != nil {
		return err
	}
	time.Sleep(pause)
	return c.write(token, value+1)
}

// runWorkers runs the workers on a counter and returns how many updates were
// acknowledged and how many are missing in the end.
func runWorkers(t *testing.T, c counter) (acknowledged, lost int) {
	store := memory.New()
	defer store.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i := range workers {
		wg.Go(func() {
			n, err := worker(t.Context(), store, c, fmt.Sprintf("worker-%d", i))
			if err != nil {
				t.Errorf("worker %d: %v", i, err)
			}
			mu.Lock()
			defer mu.Unlock()
			acknowledged += n
		})
	}
	wg.Wait()
	end, err := c.read(fence.MaxToken)
	if err != nil {
		t.Fatalf("read = %v, want nil", err)
	}
	return acknowledged, acknowledged - end
}

// A lease alone does not keep paused holders apart; the fence does, if reads
// that a write depends on pass it too.
func TestGuardedCounter(t *testing.T) {
	tests := []struct {
		name  string
		make  func(*testing.T) counter
		loses bool
	}{
		{"without the fence", func(*testing.T) counter { return new(unguarded) }, true},
		{"the fence around writes only", func(*testing.T) counter { return new(writesOnly) }, true},
		{"the fence around reads and writes", func(*testing.T) counter { return new(guarded) }, false},
		{"the fence in the database", func(t *testing.T) counter { return newInSQL(t) }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				acknowledged, lost := runWorkers(t, tt.make(t))
				if acknowledged != workers*increments {
					t.Errorf("%d updates were acknowledged, want %d", acknowledged, workers*increments)
				}
				t.Logf("%d updates acknowledged, %d of them lost", acknowledged, lost)
				if (lost > 0) != tt.loses || lost < 0 {
					t.Errorf("%d updates were lost, want loss: %v", lost, tt.loses)
				}
			})
		})
	}
}
