package surreal

import (
	"testing"

	"github.com/surrealdb/surrealdb.go/pkg/connection"

	"github.com/leasehold/leasehold"
)

// What is not known to have happened before a commit may have been the commit: cas
// then looks for the mark. "Nothing was written" must be certain.
func TestStorageErrorsLeaveDoubt(t *testing.T) {
	for _, text := range []string{
		"There was a problem with a datastore transaction: timed out",
		"There was a problem with the underlying datastore: IO error",
		"Failed to commit: the outcome is undetermined",
	} {
		if got := leasehold.ReasonOf(rolledBack([]string{text, "The query was not executed due to a failed transaction"})); got != "" {
			t.Errorf("%q = %v, want no reason: a doubt", text, got)
		}
		if got := leasehold.ReasonOf(classify(&connection.RPCError{Code: -32000, Message: text})); got != "" {
			t.Errorf("%q of the call = %v, want no reason: a doubt", text, got)
		}
	}
	if got := leasehold.ReasonOf(rolledBack([]string{"Found NONE for field `token`"})); got != leasehold.ReasonUnavailable {
		t.Errorf("a value of another type = %v, want unavailable", got)
	}
}
