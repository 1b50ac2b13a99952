package console

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/wire"
)

// visit is one request under way.
type visit struct {
	s         *Server
	w         http.ResponseWriter
	r         *http.Request
	ctx       context.Context
	caller    auth.Caller
	query     url.Values
	requestID string
	at        time.Time // the moment that the page is of; zero is now
	wrote     bool      // at least the head of the answer
}

func newVisit(s *Server, w http.ResponseWriter, r *http.Request) *visit {
	return &visit{
		s: s, w: w, r: r, ctx: r.Context(), caller: auth.From(r.Context()), query: r.URL.Query(), requestID: auth.RequestID(r),
	}
}

// mayRead reports whether the caller may look at everything. The roles of a holder
// alone suffice for its own leases, which the API and the command line show.
func (v *visit) mayRead() bool { return v.caller.Has(auth.RoleReader) || v.mayOperate() }

// mayOperate reports whether the caller may break, force-release and change settings.
func (v *visit) mayOperate() bool { return v.caller.Has(auth.RoleOperator) }

var (
	errNoPage   = errors.New("there is no such page")
	errMethod   = errors.New("this address does not take this method")
	errPanicked = errors.New("a panic, which is in the server's log")
	errTimeout  = errors.New("the store did not answer in time")
	errBusy     = errors.New("too many pages read the history at the same time; load this one again in a moment")
)

// fail answers with a page that says what went wrong.
func (v *visit) fail(err error) {
	status, text := http.StatusInternalServerError, "This page could not be made; the server's log says why."
	var e *leasehold.Error
	switch {
	case errors.Is(err, errNoPage):
		status, text = http.StatusNotFound, "There is no such page."
	case errors.Is(err, errMethod):
		status, text = http.StatusMethodNotAllowed, "This address does not take this method."
	case errors.Is(err, errBusy):
		status, text = http.StatusServiceUnavailable, errBusy.Error()
	case errors.As(err, &e):
		status, text = wire.Status(e), wire.Public(e).Error()
	}
	if status >= http.StatusInternalServerError && v.ctx.Err() == nil {
		v.s.o.Logger.Error("page failed", "path", v.r.URL.Path, "error", err, "request_id", v.requestID)
	}
	if v.wrote {
		return
	}
	if rendered := v.render(status, "problem", page{Title: http.StatusText(status), Data: text}); rendered != nil {
		http.Error(v.w, text, status)
	}
}

// callStore calls a method of the store under the time limit.
func callStore[R, T any](v *visit, method func(context.Context, R) (T, error), r R) (T, error) {
	ctx, cancel := context.WithTimeoutCause(v.ctx, v.s.o.StoreTimeout, errTimeout)
	defer cancel()
	return method(ctx, r)
}

// unsupported reports whether the store cannot do it, which a page says plainly.
func unsupported(err error) bool { return errors.Is(err, leasehold.ErrUnsupported) }
