package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// stallTimeout is the default of Options.StallTimeout.
const stallTimeout = time.Minute

// piece is how much is written under one deadline, so that a client on a slow
// line makes progress, too.
const piece = 64 << 10

// paced is the writer of a request that must make progress: a client that
// neither sends nor takes a byte for a while is given up on, and so is a disk
// that does not answer. Whole requests have no limit: a large blob over a slow
// line takes its time.
type paced struct {
	http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	stalled *time.Timer // ends the request's context
	end     context.CancelFunc
	until   time.Time // the deadline of writes
}

// pace returns the writer, and the request with a context that ends when it
// stalls. Call done at the end.
func pace(w http.ResponseWriter, r *http.Request, timeout time.Duration) (*paced, *http.Request) {
	ctx, end := context.WithCancel(r.Context())
	p := &paced{ResponseWriter: w, rc: http.NewResponseController(w), timeout: timeout, end: end}
	p.stalled = time.AfterFunc(timeout, end)
	if r.ContentLength != 0 {
		// Also for a body that nobody may come to read: net/http reads some of
		// it to keep the connection.
		_ = p.rc.SetReadDeadline(time.Now().Add(timeout))
	}
	if r.ProtoMajor > 1 {
		// HTTP/2 counts the server's WriteTimeout from the request, not from
		// the answer, which an upload may hold up for long.
		_ = p.rc.SetWriteDeadline(time.Time{})
	}
	return p, r.WithContext(ctx)
}

func (p *paced) Write(b []byte) (n int, err error) {
	for {
		p.extend(&p.until, p.rc.SetWriteDeadline)
		m, err := p.ResponseWriter.Write(b[n:min(n+piece, len(b))])
		n += m
		if err != nil || n == len(b) {
			return n, err
		}
	}
}

func (p *paced) WriteHeader(status int) {
	p.extend(&p.until, p.rc.SetWriteDeadline)
	p.ResponseWriter.WriteHeader(status)
}

// extend moves a deadline when half of it has passed: moving it for every piece
// costs more than the piece.
func (p *paced) extend(until *time.Time, set func(time.Time) error) {
	now := time.Now()
	if until.Sub(now) < p.timeout/2 {
		*until = now.Add(p.timeout)
		_ = set(*until)
		p.stalled.Reset(p.timeout)
	}
}

// done leaves the deadline of writes as it is: net/http has yet to pass on what
// it holds, and lifts the deadline then.
func (p *paced) done() {
	p.stalled.Stop()
	p.end()
}

func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// pacedBody is the body of such a request.
type pacedBody struct {
	io.Reader
	pace  *paced
	until time.Time
}

// body returns the body of the request, to be read to its end. A part of a batch
// has none of its own.
func (c *call) body() io.Reader {
	if p, ok := c.w.(*paced); ok {
		return &pacedBody{Reader: c.r.Body, pace: p}
	}
	return c.r.Body
}

func (b *pacedBody) Read(into []byte) (int, error) {
	b.pace.extend(&b.until, b.pace.rc.SetReadDeadline)
	n, err := b.Reader.Read(into)
	if errors.Is(err, io.EOF) { // from now on silence is no offence
		_ = b.pace.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}
