package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// newest is the version that is answered to whoever names none. Any version is
// served: what they have in common is all there is.
const newest = "2026-06-06"

// serve is the one place where requests come in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, d *dialect) {
	p, r := pace(w, r, s.stallTimeout)
	defer p.done()
	c := &call{w: p, r: r, dialect: d, id: newRequestID(), began: time.Now()}
	defer s.finish(c)
	s.setHeaders(c)
	if err := s.run(c); err != nil {
		s.refuse(c, err)
	}
}

// run finds out what is asked, by whom, and lets the handler answer.
func (s *Server) run(c *call) error {
	if s.closed != "" && !c.dialect.open {
		return azerr.New(azerr.AuthorizationFailure).With("%s", s.closed)
	}
	if err := s.locate(c); err != nil {
		return err
	}
	if c.r.Method == http.MethodOptions {
		return s.preflight(c)
	}
	if err := s.setCORS(c); err != nil {
		return err
	}
	if err := s.find(c); err != nil {
		return err
	}
	if err := s.authorise(c); err != nil {
		return err
	}
	if err := c.checkOffered(); err != nil {
		return err
	}
	return c.op.Handle(s, c)
}

// locate reads the address.
func (s *Server) locate(c *call) error {
	var err error
	if c.query, err = sign.ParseQuery(c.r.URL.RawQuery); err != nil {
		return err
	}
	if err := s.checkHost(c.r.Host); err != nil && !c.dialect.open { // the main port has looked already
		return err
	}
	a, rest, err := s.accountOf(c.r, c.dialect)
	if err != nil {
		return err
	}
	c.restype = c.dialect.restype(c.query, rest)
	if a, err = a.name(rest, c.restype); err != nil {
		return err
	}
	c.ref, c.level, c.secondary, c.lone = a.Ref, a.level, a.secondary, a.lone
	c.dialect.complete(c)
	return nil
}

// find looks the operation up.
func (s *Server) find(c *call) error {
	at := place{c.level, strings.ToLower(c.restype), strings.ToLower(c.query.Get("comp"))}
	var err error
	if c.op, err = s.routes.find(at, c.r.Method, c.r.Header); err != nil {
		return err
	}
	if c.op.Write && c.secondary {
		return azerr.New(azerr.InsufficientAccountPermissions).With("The secondary endpoint is for reading only.")
	}
	return c.readSnapshot()
}

// readSnapshot reads the snapshot that the request is about.
func (c *call) readSnapshot() error {
	if c.level != atBlob {
		return nil
	}
	var err error
	if c.ref.Snapshot, err = snapshotIn(c.query, "snapshot"); err != nil {
		return err
	}
	if c.ref.IsSnapshot() && !c.op.Snapshot {
		return badQuery("snapshot", "%s is not for snapshots, which never change", c.op.Name)
	}
	return nil
}

// snapshotIn reads the snapshot that a query names under that name; none if it
// has no such parameter. An empty one is refused: it must not turn a request
// about a snapshot into one about the blob.
func snapshotIn(q sign.Query, name string) (catalog.Snapshot, error) {
	if !q.Has(name) {
		return catalog.Snapshot{}, nil
	}
	values := q.Values()[name]
	s, ok := catalog.ParseSnapshot(values[0])
	switch {
	case len(values) > 1:
		return s, badQuery(name, "it is there more than once")
	case !ok:
		return s, badQuery(name, "it is no snapshot's id, as in 2006-01-02T15:04:05.0000000Z")
	}
	return s, nil
}

// setHeaders gives the answer what every answer has, beside the date, which
// net/http adds.
func (s *Server) setHeaders(c *call) {
	c.header()["Server"] = s.name
	if c.dialect.open {
		c.setSandbox()
	}
	c.set("X-Ms-Request-Id", c.id)
	c.set("X-Ms-Version", version(c.r))
	if id := first(c.r.Header, "X-Ms-Client-Request-Id"); id != "" && len(id) <= 1024 && printable(id) {
		c.set("X-Ms-Client-Request-Id", id)
	}
}

// setSandbox keeps what users have uploaded from being a page of the API's
// origin, or of anybody's frame.
func (c *call) setSandbox() {
	h := c.header()
	h["Content-Security-Policy"] = sandboxed
	h["X-Content-Type-Options"] = noSniffing
	h["X-Frame-Options"] = noFrames
	h["Cross-Origin-Resource-Policy"] = ownOrigin
}

// version returns the version of the protocol that the client speaks.
func version(r *http.Request) string {
	if v := first(r.Header, "X-Ms-Version"); v != "" && len(v) <= 32 && printable(v) {
		return v
	}
	return newest
}

func printable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// finish catches a panic and logs the request: its operation and outcome, and
// nothing of its address, which may hold a signature.
func (s *Server) finish(c *call) {
	if p := recover(); p != nil {
		s.panicked(c, p)
	}
	if s.log.Enabled(c.r.Context(), slog.LevelDebug) {
		s.log.LogAttrs(c.r.Context(), slog.LevelDebug, "blob request", c.attrs(
			slog.Int("status", c.status), slog.String("code", c.code), slog.Duration("took", time.Since(c.began)))...)
	}
}

var errPanicked = errors.New("a panic, logged above")

func (s *Server) panicked(c *call, p any) {
	if p == http.ErrAbortHandler && c.outer == nil {
		panic(p)
	}
	s.log.LogAttrs(c.r.Context(), slog.LevelError, "panic", c.attrs(
		slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))...)
	s.refuse(c, errPanicked)
}

// attrs says which request a log line is about.
func (c *call) attrs(more ...slog.Attr) []slog.Attr {
	name := "none"
	if c.op != nil {
		name = c.op.Name
	}
	return append([]slog.Attr{
		slog.String("request_id", c.id), slog.String("operation", name), slog.String("method", c.r.Method),
		slog.String("account", c.ref.Account), slog.String("container", c.ref.Container),
		slog.String("remote", c.r.RemoteAddr),
	}, more...)
}

// newRequestID returns a random GUID. It names a request, never a lease, and so
// may be shown.
func newRequestID() string { return leasehold.NewID().Reveal() }
