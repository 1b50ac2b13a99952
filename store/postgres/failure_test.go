package postgres

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold/leasehold"
)

// A connection that the server ends leaves in doubt whether a statement was committed, in
// every language that the server speaks.
func TestLostConnectionIsDoubt(t *testing.T) {
	for _, test := range []struct {
		err  error
		want leasehold.Reason
	}{
		{&pgconn.PgError{Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "57P01"}, leasehold.ReasonUnknown},
		{&pgconn.PgError{Severity: "ВАЖНО", SeverityUnlocalized: "FATAL", Code: "57P01"}, leasehold.ReasonUnknown},
		{&pgconn.PgError{Severity: "PANIK", SeverityUnlocalized: "PANIC", Code: "57P02"}, leasehold.ReasonUnknown},
		{&pgconn.PgError{Severity: "FATAL", Code: "08P01"}, leasehold.ReasonUnknown}, // of a pooler
		{&pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: "ERROR", Code: "42501"}, leasehold.ReasonUnavailable},
		{&pgconn.PgError{Severity: "ERROR", Code: "42501"}, leasehold.ReasonUnavailable},
		{errors.New("conn closed"), leasehold.ReasonUnknown},
	} {
		if err := writeFailure(test.err); leasehold.ReasonOf(err) != test.want {
			t.Errorf("%+v is %v, want %s", test.err, err, test.want)
		}
	}
}
