package remote

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// request is one request on its way.
type request struct {
	ctx     context.Context
	op      string // of the call, if it may be part of a batch
	method  string
	target  string // path and query, escaped, without the server's prefix
	body    []byte // JSON; nil with GET
	resume  uint64 // Last-Event-ID
	timeout time.Duration

	// stream: the answer's body has no end to wait for, so that the end of the
	// context cuts it off at once.
	stream bool

	// repeatable: it does no harm if it arrives twice.
	repeatable bool

	// late is given the answer that comes after the caller has left. If it is
	// set, the server is told that the caller leaves and is asked for its last
	// word; leaving waits for that, for patience at most.
	late     func(*answer)
	patience time.Duration
}

// answer is the server's answer. Whoever gets it closes its body.
type answer = http.Response

// append writes the request as it goes over the wire. The fixed headers follow
// the target.
func (q *request) append(b []byte, prefix, fixed string) []byte {
	b = append(b, q.method...)
	b = append(b, ' ')
	b = append(b, prefix...)
	b = append(b, q.target...)
	b = append(b, fixed...)
	if q.resume > 0 {
		b = append(b, "Last-Event-ID: "...)
		b = strconv.AppendUint(b, q.resume, 10)
		b = append(b, "\r\n"...)
	}
	if q.body != nil {
		b = append(b, "Content-Type: application/json\r\nContent-Length: "...)
		b = strconv.AppendInt(b, int64(len(q.body)), 10)
		b = append(b, "\r\n"...)
	}
	b = append(b, "\r\n"...)
	return append(b, q.body...)
}

// fixedHeaders are the same in every request.
func fixedHeaders(o Options, a address) string {
	h := " HTTP/1.1\r\nHost: " + a.host + "\r\nUser-Agent: " + o.UserAgent + "\r\n"
	if o.Token != "" {
		h += "Authorization: Bearer " + o.Token + "\r\n"
	}
	return h
}

// notSent is an error from before anything of the request can have arrived.
type notSent struct{ error }

func (e *notSent) Unwrap() error { return e.error }

// buffers are for requests and for answers. Huge ones are not kept.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 4096)) }}

const keptBuffer = 64 << 10

func putBuffer(b *[]byte) {
	if cap(*b) <= keptBuffer {
		clear(*b) // lease ids must not linger in the memory of whoever is next
		*b = (*b)[:0]
		buffers.Put(b)
	}
}
