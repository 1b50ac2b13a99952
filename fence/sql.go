package fence

import (
	"context"
	"database/sql"
	_ "embed" // for the statements
	"errors"
	"fmt"
	"strings"
)

// Schema creates the table lease_fence, in which SQL keeps the highest tokens.
// It may be run again, and is plain enough for a migration of your own.
//
//go:embed schema.sql
var Schema string

//go:embed advance.sql
var advance string

//go:embed seen.sql
var seen string

// SQL keeps the highest token seen for each resource in the database that holds
// the guarded data, in the table of Schema. It works through database/sql; SQLite
// and Postgres are the dialects there are.
type SQL struct {
	advance, seen string
}

// The dialects. They differ in how a statement names its parameters.
var (
	SQLite   = &SQL{advance: questionMarks(advance), seen: questionMarks(seen)}
	Postgres = &SQL{advance: advance, seen: seen}
)

// Check refuses a token lower than the highest seen (ErrStale) and otherwise
// remembers it, as part of tx. Call it first in the transaction, then write,
// then commit; after any error roll back. The row is locked until then, so a
// newer holder waits for the commit and an older one comes too late.
//
// It needs a transaction, not a database: a check that commits by itself says
// nothing about the write that follows.
func (s *SQL) Check(ctx context.Context, tx *sql.Tx, resource string, token uint64) error {
	if err := checkToken(token); err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, s.advance, resource, int64(token))
	if err != nil {
		return fmt.Errorf("fence: remember the token: %w", err)
	}
	changed, err := result.RowsAffected()
	if err != nil {
		return fmt.Errorf("fence: remember the token: %w", err)
	}
	if changed > 0 {
		return nil
	}
	highest, err := s.Seen(ctx, tx, resource)
	if err != nil {
		return err
	}
	return &StaleError{Resource: resource, Token: token, Seen: highest}
}

// Seen returns the highest token seen for a resource, or zero.
func (s *SQL) Seen(ctx context.Context, tx *sql.Tx, resource string) (uint64, error) {
	var token int64
	err := tx.QueryRowContext(ctx, s.seen, resource).Scan(&token)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("fence: read the highest token: %w", err)
	}
	return uint64(token), nil
}

// questionMarks turns the numbered parameters, which each statement uses once
// and in order, into question marks.
func questionMarks(statement string) string {
	return strings.NewReplacer("$1", "?", "$2", "?").Replace(statement)
}
