package postgres

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/sqltx"
	"github.com/leasehold/leasehold/test/process"
)

// A transaction that has drawn its number and is not committed holds readers back,
// also if it is the only one that writes: a watcher would never see its record.
func TestHistoryWaitsForTheOnlyWriter(t *testing.T) {
	s := openShared(t)
	acquire(t, s, "before", "a", time.Minute)
	if last, err := s.db.Last(t.Context()); last != 1 || err != nil {
		t.Fatalf("Last = %d, %v; want 1: nothing is under way", last, err)
	}
	tx, err := s.db.pool.Begin(t.Context())
	must(t, err)
	defer func() { _ = tx.Rollback(t.Context()) }()
	_, err = tx.Exec(t.Context(), s.db.sql["waiting"], "before", time.Now()) // it writes, so it has an id
	must(t, err)
	var seq uint64
	record := leasehold.Record{At: time.Now(), Kind: leasehold.KindAcquired, Resource: "late", Holder: "a", Token: 9}
	must(t, tx.QueryRow(t.Context(), s.db.sql["record"], recordArguments(record, true)...).Scan(&seq))
	last, err := s.db.Last(t.Context())
	must(t, err)
	if last >= seq {
		t.Fatalf("Last = %d while the transaction of number %d is under way, want less", last, seq)
	}
	must(t, tx.Commit(t.Context()))
	records, _, err := s.db.After(t.Context(), last, 10)
	must(t, err)
	if len(records) != 1 || records[0].Seq != seq {
		t.Errorf("After(%d) = %v, want the record %d", last, records, seq)
	}
}

// A wait that ends in vain is recorded though its resource has no row. Nothing else
// is written by then, so the record itself must give the transaction its id before
// it draws its number.
func TestRecordDrawsItsNumberAfterTheID(t *testing.T) {
	s := openShared(t)
	ctx := t.Context()
	exec := func(q interface {
		Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	}, sql string) {
		t.Helper()
		_, err := q.Exec(ctx, strings.ReplaceAll(sql, "{s}", s.db.opts.Schema))
		must(t, err)
	}
	acquire(t, s, "other", "a", time.Minute) // the first number is logged, which takes an id too
	exec(s.db.pool, `CREATE FUNCTION {s}.hold() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock(hashtext('{s}')); RETURN NEW; END $$`)
	exec(s.db.pool, `CREATE TRIGGER hold BEFORE INSERT ON {s}.lease_history FOR EACH ROW EXECUTE FUNCTION {s}.hold()`)
	holder, err := s.db.pool.Begin(ctx)
	must(t, err)
	exec(holder, `SELECT pg_advisory_xact_lock(hashtext('{s}'))`)
	written := make(chan error, 1)
	go func() {
		record := leasehold.Record{At: time.Now(), Kind: leasehold.KindFailed, Resource: "none", Holder: "a"}
		_, err := s.db.Step(ctx, sqltx.Need{Resource: "none"}, func(sqltx.Found) sqltx.Write {
			return sqltx.Write{Records: []leasehold.Record{record}, Kept: []bool{true}}
		})
		written <- err
	}()
	process.Eventually(t, "the number is drawn", func() bool {
		var drawn int
		must(t, s.db.pool.QueryRow(ctx, `SELECT last_value FROM "`+s.db.opts.Schema+`".lease_records`).Scan(&drawn))
		return drawn == 2
	})
	last, err := s.db.Last(ctx)
	if err != nil || last >= 2 {
		t.Errorf("Last = %d, %v while the insert of that number is under way, want less than 2", last, err)
	}
	must(t, holder.Rollback(ctx))
	must(t, <-written)
}

// A server that a failover or a backup has set back gives out numbers again that
// were seen before. Readers must not wait for them to pass the old ones.
func TestHistoryOfAServerThatWasSetBack(t *testing.T) {
	s := openShared(t)
	for _, r := range []string{"a", "b", "c"} {
		acquire(t, s, r, "a", time.Minute)
	}
	if last, err := s.db.Last(t.Context()); last != 3 || err != nil {
		t.Fatalf("Last = %d, %v; want 3", last, err)
	}
	s.db.horizon.note(reading{drawn: 3, next: 1 << 60}, 0) // its transaction ids were larger too
	for _, sql := range []string{"DELETE FROM {s}.lease_history WHERE seq > 1", "SELECT setval('{s}.lease_records', 1)"} {
		_, err := s.db.pool.Exec(t.Context(), strings.ReplaceAll(sql, "{s}", s.db.opts.Schema))
		must(t, err)
	}
	if last, err := s.db.Last(t.Context()); last != 1 || err != nil {
		t.Fatalf("Last = %d, %v after it was set back; want 1", last, err)
	}
	acquire(t, s, "d", "a", time.Minute)
	if records, _, err := s.db.After(t.Context(), 1, 10); len(records) != 1 || err != nil {
		t.Errorf("After(1) = %v, %v; want the new record", records, err)
	}
}
