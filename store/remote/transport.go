package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"time"
)

const (
	// idleFor is how long an unused connection is kept.
	idleFor = 90 * time.Second

	// maxHead is how much of an answer's head is read: a server that never
	// stops sending headers must not fill the memory.
	maxHead = 256 << 10

	// maxAnswer is how much of an answer is read. The longest list page is
	// shorter, even if all names, metadata and patterns need escapes.
	maxAnswer = 192 << 20
)

var (
	errSwitched = errors.New("the server wants to switch protocols")
	errTooLong  = fmt.Errorf("the answer has more than %d bytes", maxAnswer)
)

// transport sends calls to the server, over connections of its own or with the
// caller's HTTP client.
type transport struct {
	sendHTTP func(*http.Request) (*http.Response, error)
	own      *http.Transport // nil: the client is the caller's
	base     string
	headers  http.Header
	timeout  time.Duration // of every call but waits and streams; zero: none
	trace    func(context.Context) traceContext
}

func newTransport(o Options, a address) *transport {
	t := &transport{base: string(a), headers: http.Header{"User-Agent": {o.UserAgent}}, timeout: max(o.Timeout, 0), trace: o.traceContext}
	if o.Token != "" {
		t.headers.Set("Authorization", "Bearer "+o.Token)
	}
	if o.HTTPClient != nil {
		t.sendHTTP = withClient(*o.HTTPClient)
		return t
	}
	t.own = &http.Transport{
		DialContext:            dialWithin(t.timeout, o.Dial),
		TLSClientConfig:        o.TLS.Clone(), // nil stays nil
		TLSHandshakeTimeout:    t.timeout,
		MaxIdleConnsPerHost:    o.IdleConns,
		IdleConnTimeout:        idleFor,
		MaxResponseHeaderBytes: maxHead,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	t.own.Protocols.SetHTTP1(true) // follow closes connections, which must not be shared
	t.sendHTTP = t.own.RoundTrip
	return t
}

// withClient sends with the caller's client.
func withClient(client http.Client) func(*http.Request) (*http.Response, error) {
	client.Timeout = 0 // it would end waits and watches
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client.Do
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// dialWithin limits how long connecting takes. Even a wait without an end must
// not wait for ever for a server that is not there.
func dialWithin(timeout time.Duration, dial dialer) dialer {
	if timeout == 0 {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// exchange sends a call and reads the answer. An error that is a *notSent says
// that nothing of the call can have arrived.
func (t *transport) exchange(ctx context.Context, c *call) (reply, error) {
	if t.timeout > 0 && c.effect != waits {
		limited, cancel := context.WithTimeout(ctx, t.timeout)
		defer cancel()
		ctx = limited
	}
	a, err := t.send(ctx, c)
	if err != nil {
		return reply{}, err
	}
	return readReply(a)
}

// send sends a call and returns the head of the answer, whose body must be
// closed.
func (t *transport) send(ctx context.Context, c *call) (*http.Response, error) {
	r, err := t.request(ctx, c)
	if err != nil {
		return nil, &notSent{err}
	}
	a, err := t.sendHTTP(r)
	if err == nil && a.StatusCode == http.StatusSwitchingProtocols {
		_ = a.Body.Close()
		err = errSwitched
	}
	if err == nil {
		return a, nil
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // what it adds, the method and the URL, is known
	}
	if c.progress.Load() != sent {
		err = &notSent{err}
	}
	return nil, err
}

// request returns the HTTP request of a call.
func (t *transport) request(ctx context.Context, c *call) (*http.Request, error) {
	if t.own != nil {
		ctx = c.follow(ctx)
	}
	var body io.Reader
	if c.json != nil {
		body = bytes.NewReader(c.json)
	}
	r, err := http.NewRequestWithContext(ctx, c.method, t.base+c.target, body)
	if err != nil {
		return nil, err
	}
	if c.json != nil && t.own == nil {
		r.GetBody = func() (io.ReadCloser, error) {
			c.restart()
			return observedBody{bytes.NewReader(c.json), c}, nil
		}
		r.Body, _ = r.GetBody()
	}
	for key, values := range t.headers {
		r.Header[key] = values
	}
	if c.json != nil {
		r.Header["Content-Type"] = jsonType
	}
	t.trace(ctx).addTo(r.Header)
	if c.after > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(c.after, 10))
	}
	if c.effect == reads {
		r.Header["Idempotency-Key"] = nil // allows net/http to repeat it; is not sent
	}
	return r, nil
}

var jsonType = []string{"application/json"}

// close closes idle connections. The caller's client is not ours to close.
func (t *transport) close() {
	if t.own != nil {
		t.own.CloseIdleConnections()
	}
}

// follow follows the call through our own transport, which asks for another
// connection only if nothing was written to the last one, or if the call may be
// repeated. A connection that is closed before the request is written carries
// nothing of it.
func (c *call) follow(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { c.restart() },
		GotConn: func(i httptrace.GotConnInfo) {
			if !c.maySend() {
				_ = i.Conn.Close()
			}
		},
	})
}

// observedBody is the body in a transport that is not ours: what has not been
// read has not been sent, and what cannot be read never will be.
type observedBody struct {
	*bytes.Reader
	call *call
}

func (b observedBody) Read(p []byte) (int, error) {
	if !b.call.maySend() {
		return 0, context.Canceled
	}
	return b.Reader.Read(p)
}

// WriteTo is Read for transports that prefer it.
func (b observedBody) WriteTo(w io.Writer) (int64, error) {
	if !b.call.maySend() {
		return 0, context.Canceled
	}
	return b.Reader.WriteTo(w)
}

func (b observedBody) Close() error { return nil }

// notSent is an error from before anything of the call can have arrived.
type notSent struct{ error }

func (e *notSent) Unwrap() error { return e.error }

// reply is a whole answer.
type reply struct {
	status int
	header http.Header
	body   []byte
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
