// Package fault is the error vocabulary of the Azure Blob door: Azure's codes,
// the HTTP status that belongs to each, and a sentence of our own that says
// what is wrong and, where that helps, what to do next.
//
// SDKs decide by the code and the status, people read the sentence. So codes
// and statuses are Azure's to the letter, and sentences may be improved freely.
package fault

import (
	"fmt"
	"net/http"
)

// Error is a refusal that an Azure client understands.
type Error struct {
	Code    string      // what SDKs switch on, as in the x-ms-error-code header
	Status  int         // the HTTP status of the answer
	Message string      // for people; it never holds a key, a signature or a lease id
	Header  http.Header // further headers of the answer, nil when there are none
}

// New is the error of a code, with the status and the sentence of the table.
// It is the caller's own: changing it changes no other error. A code that the
// table does not know is a mistake in the door itself, so it becomes an
// InternalError rather than something no client has ever heard of.
func New(code string) *Error {
	known, ok := table[code]
	if !ok {
		return New(InternalError).With("The server has no error named %q.", code)
	}
	return &Error{Code: code, Status: known.status, Message: known.message}
}

// With is the same error with a sentence that knows more than the table's. It
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

// Error is the line for the log.
func (e *Error) Error() string {
	return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message)
}
