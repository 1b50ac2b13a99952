package surreal

import (
	"errors"
	"strings"

	"github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// What statements throw.
const (
	thrownRaced   = "leasehold: raced"   // the record or the settings are not what they were
	thrownRefused = "leasehold: refused" // the write did nothing: the user may only read
)

// retryable is part of what the server says of transactions that conflict.
const retryable = "can be retried"

// errDuplicate is ErrRaced because of an index: another record has the value.
var errDuplicate = duplicate{}

type duplicate struct{}

func (duplicate) Error() string { return "another record has the same lease id" }
func (duplicate) Unwrap() error { return cas.ErrRaced }

var (
	errReadOnly   = errors.New("surreal: the user may not write")
	errUndecided  = errors.New("surreal: the transaction may or may not have been committed")
	errUnreadable = errors.New("surreal: a record was not written by this store")
)

// described is an error with a better text.
type described struct {
	text  string
	cause error
}

func (e *described) Error() string { return e.text }
func (e *described) Unwrap() error { return e.cause }

func unavailable(cause error) *leasehold.Error {
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Store: kind, Cause: cause}
}

// classify says what the error of a query means: ErrRaced, an error with a reason,
// or one without where an answer was lost. What the server says never gets out as it
// is: it repeats values, and a lease id is one of them.
func classify(err error) error {
	var unsent notSent
	var refused *connection.RPCError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &unsent):
		return unavailable(err)
	case errors.As(err, &refused) && strings.Contains(refused.Error(), retryable):
		return cas.ErrRaced
	case errors.As(err, &refused) && !harmless(refused.Error()):
		return errors.New("surreal: the server failed: " + shown(refused.Error()))
	case errors.As(err, &refused):
		return unavailable(errors.New("surreal: the request was refused: " + shown(refused.Error())))
	}
	messages := queryErrors(err)
	if len(messages) == 0 {
		return err
	}
	return rolledBack(messages)
}

// queryErrors are the texts of the statements that failed.
func queryErrors(err error) (messages []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			messages = append(messages, queryErrors(e)...)
		}
		return messages
	}
	var failed *surrealdb.QueryError
	if errors.As(err, &failed) && failed != nil {
		messages = append(messages, failed.Message)
	}
	return messages
}

// rolledBack says what the errors of a transaction mean. All but one of its
// statements say only that it failed.
func rolledBack(messages []string) error {
	conflict, known := true, true // unless a statement says something else
	for _, m := range messages {
		switch {
		case strings.Contains(m, thrownRaced):
			return cas.ErrRaced
		case strings.Contains(m, "already contains"), strings.Contains(m, "already exists"):
			return errDuplicate
		case strings.Contains(m, thrownRefused), strings.Contains(m, "Not enough permissions"):
			return unavailable(errReadOnly)
		case strings.Contains(m, "failed transaction"), strings.Contains(m, "cancelled transaction"),
			strings.Contains(m, retryable), strings.Contains(m, "onflict"):
		case strings.Contains(m, "COMMIT"):
			return &leasehold.Error{Reason: leasehold.ReasonUnknown, Cause: errUndecided}
		default:
			conflict = false
			known = known && harmless(m)
		}
	}
	if conflict {
		return cas.ErrRaced
	}
	failed := errors.New("surreal: a statement failed: " + shown(strings.Join(messages, "; ")))
	if !known {
		return failed // it may have been the commit
	}
	return unavailable(failed)
}

// harmless reports whether the server says by this that a statement was not executed.
// Whatever else it says, it may have been about a commit that took place.
func harmless(text string) bool {
	for _, part := range []string{
		"Parse error", "ermission", "IAM error", "does not exist", "not found", "for field", "oerce", "Incorrect arguments", "Specify a",
		"An error occurred", "Invalid", "authentication",
	} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// shown is what may be shown of the server's text: what comes before the first
// value in it.
func shown(text string) string {
	if i := strings.IndexAny(text, "'`\"\n"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(text)
}
