package remote

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// maxAnswer is how much of an answer is read. The longest list page is shorter.
const maxAnswer = 64 << 20

var errTooLong = fmt.Errorf("the answer has more than %d bytes", maxAnswer)

// request is one request to the server.
type request struct {
	op      string // of the call, if it may be part of a batch
	method  string
	target  string // path and query, escaped, without the server's prefix
	body    []byte // JSON; nil with GET
	resume  uint64 // Last-Event-ID
	timeout time.Duration

	// repeatable: it does no harm if it arrives twice.
	repeatable bool

	progress atomic.Int32
}

// How far a request has come.
const (
	unsent    int32 = iota
	sent            // some of it may have arrived
	withdrawn       // nothing of it will ever arrive
)

// restart notes that nothing has arrived of what was sent until now.
func (q *request) restart() { q.progress.CompareAndSwap(sent, unsent) }

// depart reports whether the request may be sent.
func (q *request) depart() bool {
	return q.progress.CompareAndSwap(unsent, sent) || q.progress.Load() == sent
}

// withdraw keeps an unsent request from being sent, and reports whether it was.
func (q *request) withdraw() bool { return q.progress.CompareAndSwap(unsent, withdrawn) }

// trace follows the request through our own transport, which asks for a
// connection anew only if nothing of the request was written to the last one,
// or if it may be repeated. A connection that is closed before the request is
// written carries nothing of it.
func (q *request) trace(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { q.restart() },
		GotConn: func(i httptrace.GotConnInfo) {
			if !q.depart() {
				_ = i.Conn.Close()
			}
		},
	})
}

// observed is the body in a transport that is not ours: what has not been read
// has not been sent, and what cannot be read never will be.
type observed struct {
	*bytes.Reader
	request *request
}

func (o observed) Read(p []byte) (int, error) {
	if !o.request.depart() {
		return 0, context.Canceled
	}
	return o.Reader.Read(p)
}

// WriteTo is Read for those who prefer it.
func (o observed) WriteTo(w io.Writer) (int64, error) {
	if !o.request.depart() {
		return 0, context.Canceled
	}
	return o.Reader.WriteTo(w)
}

func (o observed) Close() error { return nil }

// notSent is an error from before anything of the request can have arrived.
type notSent struct{ error }

func (e *notSent) Unwrap() error { return e.error }

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// result is what became of a request.
type result struct {
	reply
	err error
}

// readReply reads the whole answer, into memory of its own.
func readReply(a *http.Response) (reply, error) {
	defer a.Body.Close()
	buffer := bytes.NewBuffer(make([]byte, 0, max(512, min(a.ContentLength+bytes.MinRead, 64<<10))))
	n, err := buffer.ReadFrom(io.LimitReader(a.Body, maxAnswer+1))
	if err == nil && n > maxAnswer {
		err = errTooLong
	}
	return reply{a.StatusCode, a.Header, buffer.Bytes()}, err
}
