package wire

import (
	"errors"
	"net/http"

	"github.com/leasehold/leasehold"
)

// Public returns the error as clients of a server may see it. Why the server failed is
// for its log, as it may name files and hosts, unless the cause has a text for clients.
func Public(e *leasehold.Error) *leasehold.Error {
	if Status(e) < http.StatusInternalServerError || e.Cause == nil {
		return e
	}
	public := *e
	public.Cause = nil
	if cause := (interface{ Public() string })(nil); errors.As(e.Cause, &cause) {
		public.Problem = cause.Public()
	}
	return &public
}
