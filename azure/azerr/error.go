// Package azerr has the errors of the Azure Blob API: Azure's codes, the HTTP
// status and the sentence of each, and, where that helps, a message of our own
// that says what is wrong here and what to do next.
//
// SDKs decide by the code and the status, people search for the sentence: these
// are Azure's to the letter. Our message may be improved freely.
package azerr

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Error is a refusal that an Azure client understands.
type Error struct {
	Code     string      // what SDKs switch on, as in the x-ms-error-code header
	Status   int         // the HTTP status of the answer
	Sentence string      // Azure's own for the code
	Message  string      // what we add, or nothing; it never holds a key, a signature or a lease id
	Header   http.Header // further headers of the answer, nil when there are none
}

// New returns the error of a code, with the status and the sentences of the
// table. The caller may change it. A code that the table lacks is our mistake, so
// it becomes an InternalError, which clients know.
func New(code string) *Error {
	known, ok := table[code]
	if !ok {
		return New(InternalError).With("The server has no error named %q.", code)
	}
	return &Error{Code: code, Status: known.status, Sentence: known.sentence, Message: known.message}
}

// With returns a copy of e with another message, which it formats like fmt.Sprintf
// if there are args.
func (e *Error) With(message string, args ...any) *Error {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	changed := *e
	changed.Header = e.Header.Clone()
	changed.Message = message
	return &changed
}

// OfContainer returns a copy of e whose sentence speaks of a container: several
// codes of leases serve for both.
func (e *Error) OfContainer() *Error {
	changed := *e
	changed.Sentence = strings.ReplaceAll(e.Sentence, "the blob", "the container")
	return &changed
}

// Error is the line for the log.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, cmp.Or(e.Message, e.Sentence))
}

// HasCode reports whether err is an Error of this code, or wraps one.
func HasCode(err error, code string) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
