package blob

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// patience is how long a client may neither send nor take a byte. Whole
// requests have no limit: a large blob over a slow line takes its time.
const patience = time.Minute

// paced is a writer whose client has to keep up.
type paced struct {
	http.ResponseWriter
	rc    *http.ResponseController
	until time.Time
	body  *pacedBody // nil: nobody asked for it
}

// pace makes sure that the client keeps up: by itself, or because the server
// does, as plainhttp's.
func pace(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if r.ContentLength != 0 {
		// For a body that nobody may come to read: servers read some of it
		// after the answer, to keep the connection.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience))
	}
	if _, patient := w.(interface{ Patient() }); patient {
		return w
	}
	return &paced{ResponseWriter: w, rc: http.NewResponseController(w)}
}

func (p *paced) Write(b []byte) (int, error) {
	p.extend()
	return p.ResponseWriter.Write(b)
}

func (p *paced) WriteHeader(status int) {
	p.extend()
	p.ResponseWriter.WriteHeader(status)
}

// extend moves the deadline when half of it has passed, so that it costs
// nothing for a client that is quick.
func (p *paced) extend() {
	now := time.Now()
	if p.until.Sub(now) < patience/2 {
		p.until = now.Add(patience)
		_ = p.rc.SetWriteDeadline(p.until)
	}
}

// done passes on what was written and lifts the deadline: the connection may be
// kept, and others write to it.
func (p *paced) done() {
	_ = p.rc.Flush()
	_ = p.rc.SetWriteDeadline(time.Time{})
	if p.body.cutShort() {
		time.Sleep(farewell)
	}
}

// farewell is how long a connection stays open after an answer to half a body.
// Closed at once, it would be reset, and the client, which still sends, might
// never see the answer. net/http waits as long by itself, but not for clients
// that asked whether to continue.
const farewell = 500 * time.Millisecond

func (p *paced) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// pacedBody is a body whose client has to keep up.
type pacedBody struct {
	io.Reader
	rc    *http.ResponseController
	until time.Time

	offered bool // the client waits to be told that it may send
	ended   bool // all of it was read
}

// body returns the body of the request, to be read to its end. A client that
// sends nothing for a while is given up on.
func (c *call) body() io.Reader {
	b := &pacedBody{Reader: c.r.Body, rc: http.NewResponseController(c.w), offered: c.r.Header.Get("Expect") != ""}
	if p, ok := c.w.(*paced); ok {
		p.body = b
	}
	return b
}

func (p *pacedBody) Read(b []byte) (int, error) {
	if now := time.Now(); p.until.Sub(now) < patience/2 {
		p.until = now.Add(patience)
		_ = p.rc.SetReadDeadline(p.until)
	}
	n, err := p.Reader.Read(b)
	if errors.Is(err, io.EOF) { // from now on silence is no offence
		p.ended = true
		_ = p.rc.SetReadDeadline(time.Time{})
	}
	return n, err
}

// cutShort reports whether the client was told to send, and not heard out.
func (p *pacedBody) cutShort() bool { return p != nil && p.offered && !p.until.IsZero() && !p.ended }
