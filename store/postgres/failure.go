package postgres

import (
	"cmp"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/leasehold/leasehold"
)

// The codes of errors that have a meaning of their own.
const (
	codeUnique        = "23505"
	codeDivision      = "22012" // how statements say that it is too late
	codeSerialization = "40001"
	codeDeadlock      = "40P01"
	codeReadOnly      = "25006"
	codePrivilege     = "42501"
	codePassword      = "28P01"
	codeAuthorization = "28000"
	codeNoDatabase    = "3D000"
	codeNoTable       = "42P01"
	codeTooMany       = "53300"
	codeSequenceEnd   = "2200H"
)

// certain reports whether the error says that nothing was committed: the server
// refused the statement, or never got it. A connection that the server ends is not
// certain, and neither is pgconn.SafeToRetry: "conn closed" also ends a simple query
// that was sent, when the connection breaks before the first byte of its answer.
func certain(err error) bool {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return !endsConnection(e)
	}
	var connect *pgconn.ConnectError
	return errors.As(err, &connect)
}

// endsConnection reports whether the server ended the connection with the error. The
// severity is in the server's language; a second field, which poolers may leave out, is not.
func endsConnection(e *pgconn.PgError) bool {
	severity := cmp.Or(e.SeverityUnlocalized, e.Severity)
	return severity == "FATAL" || severity == "PANIC"
}

// writeFailure says what an error of a statement that commits means.
func writeFailure(err error) error {
	if certain(err) {
		return unavailable(err)
	}
	return unknown(err)
}

// readFailure is an error after which nothing has changed, or nothing that matters.
func readFailure(err error) error { return unavailable(err) }

// stepFailure is an error inside a transaction that was not committed.
func stepFailure(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		switch e.Code {
		case codeUnique, codeDivision, codeSerialization, codeDeadlock:
			return errAgain
		}
	}
	if errors.Is(err, errAgain) {
		return errAgain
	}
	return unavailable(err)
}

func unavailable(err error) *leasehold.Error {
	var e *leasehold.Error
	if errors.As(err, &e) {
		return e
	}
	return &leasehold.Error{Reason: leasehold.ReasonUnavailable, Store: kind, Cause: describe(err)}
}

func unknown(err error) *leasehold.Error {
	return &leasehold.Error{Reason: leasehold.ReasonUnknown, Store: kind, Cause: describe(err)}
}

// hints say what to do about an error.
var hints = map[string]string{
	codeReadOnly:      "the server or the user is read-only; connect to the primary",
	codePrivilege:     "the user may not do this; docs/stores/postgres.md lists the rights",
	codePassword:      "the server refuses the user name or the password",
	codeAuthorization: "the server refuses the user",
	codeNoDatabase:    "there is no such database; create it first",
	codeNoTable:       "a table is missing; was the schema dropped?",
	codeTooMany:       "the server has no connection left",
	codeSequenceEnd:   "the tokens have reached 2^53",
}

// describe names the store and adds what to do. The server's own words go along
// without the detail, which may quote a row and with it a lease id.
func describe(err error) error {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		text := e.Message
		if hint, ok := hints[e.Code]; ok {
			text = hint + ": " + text
		}
		return &described{"postgres: " + text + " (SQLSTATE " + e.Code + ")", nil}
	}
	// The client's errors of several addresses have line breaks.
	text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "postgres: ")), " ")
	return &described{"postgres: " + text, err}
}

type described struct {
	text string
	err  error
}

func (d *described) Error() string { return d.text }
func (d *described) Unwrap() error { return d.err }
