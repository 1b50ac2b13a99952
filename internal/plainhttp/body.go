package plainhttp

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// maxDrained is how much of a body that the handler left is read to keep the
// connection: net/http's limit.
const maxDrained = 256 << 10

// body is the body of a request: it tells a client that waits for it to go on,
// and knows how far it was read.
type body struct {
	io.ReadCloser
	response *response
	original *http.Request // which gets the trailer
	left     int64         // to be read; negative: nobody knows
	waits    bool          // the client has not been told to send it yet
	read     bool          // to its end
	failed   bool
	drained  bool // by us, for lack of interest
}

// begin makes b the body of a request that has one.
func (b *body) begin(w *response, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		b.read = true
		return
	}
	b.ReadCloser, b.response, b.original, b.left = r.Body, w, r, r.ContentLength
	b.waits = waits(r) && r.ProtoAtLeast(1, 1)
	w.request.Body = b
	if !b.here() { // only the head had to hurry: the handler says how long a body may take
		_ = w.conn.readBy(time.Time{})
	}
}

// here reports whether all of it has come, so that nobody has to wait for it.
func (b *body) here() bool {
	return b.read || b.left >= 0 && b.left <= int64(b.response.conn.in.Buffered())
}

func (b *body) Read(p []byte) (int, error) {
	if b.drained { // an end that the handler would take for the body's own
		return 0, http.ErrBodyReadAfterClose
	}
	if b.waits {
		b.waits = false
		if w := b.response; !w.began() {
			_, _ = w.conn.out.WriteString("HTTP/1.1 100 Continue\r\n\r\n")
			if err := w.conn.out.Flush(); err != nil {
				b.failed = true // who was not told will not send
				return 0, err
			}
		}
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	switch {
	case errors.Is(err, io.EOF):
		b.read = true
		b.response.request.Trailer = b.original.Trailer
	case err != nil:
		b.failed = true
	}
	return n, err
}

// Close leaves the rest to drain, which is bounded.
func (b *body) Close() error { return nil }

// ended reports whether the connection is at the end of the body.
func (b *body) ended() bool { return b.read }

// drain reads a short rest, so that the next request can be found after it. It
// reports whether it could.
func (b *body) drain() bool {
	if b.read {
		return true
	}
	if b.waits || b.failed || b.left > maxDrained {
		return false
	}
	_, _ = io.CopyN(io.Discard, b, maxDrained+1)
	b.drained = true
	return b.read
}
