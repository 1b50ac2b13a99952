package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
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
)

var errSwitched = errors.New("the server wants to switch protocols")

// transport takes requests to the server, over connections of its own or by a
// client of the caller's choice.
type transport struct {
	do      func(*http.Request) (*http.Response, error)
	own     *http.Transport // nil: the client is the caller's
	base    string
	headers http.Header
}

func newTransport(o Options, a address) *transport {
	t := &transport{base: string(a), headers: http.Header{"User-Agent": {o.UserAgent}}}
	if o.Token != "" {
		t.headers.Set("Authorization", "Bearer "+o.Token)
	}
	if o.HTTPClient != nil {
		t.do = doer(*o.HTTPClient)
		return t
	}
	t.own = &http.Transport{
		DialContext:            limited(o.Dial, o.Timeout),
		TLSClientConfig:        o.TLS.Clone(), // nil stays nil
		TLSHandshakeTimeout:    max(o.Timeout, 0),
		MaxIdleConnsPerHost:    o.IdleConns,
		IdleConnTimeout:        idleFor,
		MaxResponseHeaderBytes: maxHead,
		DisableCompression:     true,
		Protocols:              new(http.Protocols),
	}
	t.own.Protocols.SetHTTP1(true) // trace closes connections, which must not be shared
	t.do = t.own.RoundTrip
	return t
}

// doer uses a client of the caller's choice.
func doer(client http.Client) func(*http.Request) (*http.Response, error) {
	client.Timeout = 0 // it would end waits and watches
	if client.CheckRedirect == nil {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	return client.Do
}

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// limited makes connections within the limit. Even a wait without an end must
// not wait for ever for a server that is not there.
func limited(dial dialer, limit time.Duration) dialer {
	if limit <= 0 {
		return dial
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		return dial(ctx, network, address)
	}
}

// exchange sends a request and reads the answer. An error that is a *notSent
// says that nothing of the request can have arrived.
func (t *transport) exchange(ctx context.Context, q *request) (reply, error) {
	if q.timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, q.timeout)
		defer cancel()
		ctx = limited
	}
	a, err := t.send(ctx, q)
	if err != nil {
		return reply{}, err
	}
	return readReply(a)
}

// send sends a request and returns the head of the answer, whose body must be
// closed.
func (t *transport) send(ctx context.Context, q *request) (*http.Response, error) {
	r, err := t.request(ctx, q)
	if err != nil {
		return nil, &notSent{err}
	}
	a, err := t.do(r)
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
	if q.progress.Load() != sent {
		err = &notSent{err}
	}
	return nil, err
}

// request makes the request of net/http.
func (t *transport) request(ctx context.Context, q *request) (*http.Request, error) {
	if t.own != nil {
		ctx = q.trace(ctx)
	}
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, t.base+q.target, body)
	if err != nil {
		return nil, err
	}
	if q.body != nil && t.own == nil {
		r.GetBody = func() (io.ReadCloser, error) {
			q.restart()
			return observed{bytes.NewReader(q.body), q}, nil
		}
		r.Body, _ = r.GetBody()
	}
	for key, values := range t.headers {
		r.Header[key] = values
	}
	if q.body != nil {
		r.Header["Content-Type"] = jsonType
	}
	if q.resume > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(q.resume, 10))
	}
	if q.repeatable {
		r.Header["Idempotency-Key"] = nil // says so to net/http, and is not sent
	}
	return r, nil
}

var jsonType = []string{"application/json"}

// close ends idle connections. A client of the caller's is not ours to close.
func (t *transport) close() {
	if t.own != nil {
		t.own.CloseIdleConnections()
	}
}
