// Package fault is the error vocabulary of the Azure Blob door: Azure's codes,
// the HTTP status and the sentence that belong to each, and, where that helps, a
// message of our own that says what is wrong here and what to do next.
//
// SDKs decide by the code and the status, people search for the sentence. So
// these are Azure's to the letter; our message may be improved freely.
package azerr

import (
	"cmp"
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

// New is the error of a code, with the status and the sentences of the table.
// It is the caller's own: changing it changes no other error. A code that the
// table does not know is a mistake in the door itself, so it becomes an
// InternalError rather than something no client has ever heard of.
func New(code string) *Error {
	known, ok := table[code]
	if !ok {
		return New(InternalError).With("The server has no error named %q.", code)
	}
	return &Error{Code: code, Status: known.status, Sentence: known.sentence, Message: known.message}
}

// With is the same error with a message that knows more than the table's. It
// formats like fmt.Sprintf when there are args and takes the message as it is
// when there are none. It leaves e untouched.
func (e *Error) With(message string, args ...any) *Error {
	if len(args) > 0 {
		message = fmt.Sprintf(message, args...)
	}
	told := *e
	told.Header = e.Header.Clone()
	told.Message = message
	return &told
}

// OfContainer is the same error where Azure's sentence speaks of a container:
// several codes of leases serve for both.
func (e *Error) OfContainer() *Error {
	told := *e
	told.Sentence = strings.ReplaceAll(e.Sentence, "the blob", "the container")
	return &told
}

// Error is the line for the log.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, cmp.Or(e.Message, e.Sentence))
}
