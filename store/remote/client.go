package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
)

// client is the carrier that uses a client of the caller's choice.
type client struct {
	http    *http.Client
	base    string
	headers http.Header
	life    context.Context // ends when the store is closed
	end     context.CancelFunc
}

func newClient(o Options, a address) *client {
	own := *o.HTTPClient
	own.Timeout = 0 // it would end waits and watches
	if own.CheckRedirect == nil {
		own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	c := &client{http: &own, base: a.String()}
	c.life, c.end = context.WithCancel(context.Background())
	c.headers = http.Header{"User-Agent": {o.UserAgent}}
	if o.Token != "" {
		c.headers.Set("Authorization", "Bearer "+o.Token)
	}
	return c
}

// send implements carrier.
func (c *client) send(q *request) (*answer, error) {
	ctx, cancel := c.context(q)
	content := &flagged{Reader: *bytes.NewReader(q.body)}
	r, err := http.NewRequestWithContext(ctx, q.method, c.base+q.target, nil)
	if err != nil {
		cancel()
		return nil, &notSent{err}
	}
	r.Header = c.headers.Clone()
	if q.resume > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(q.resume, 10))
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
		r.Body, r.ContentLength = content, int64(len(q.body))
	}
	a, err := c.http.Do(r)
	if err != nil {
		cancel()
		return nil, content.judge(err)
	}
	a.Body = &cancelling{a.Body, cancel}
	return a, nil
}

// context ends with the request's context, its timeout, or the store.
func (c *client) context(q *request) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(q.ctx)
	stop := context.AfterFunc(c.life, func() { cancel(errClosed) })
	release := func() {
		stop()
		cancel(nil)
	}
	if q.timeout <= 0 {
		return ctx, release
	}
	ctx, expire := context.WithTimeout(ctx, q.timeout)
	return ctx, func() {
		expire()
		release()
	}
}

// close implements carrier. The client is not ours to close.
func (c *client) close() { c.end() }

// flagged is a body that knows whether it was looked at. The transport reads it
// when it has a connection: before that nothing was sent.
type flagged struct {
	bytes.Reader
	read atomic.Bool
}

func (f *flagged) Read(p []byte) (int, error) {
	f.read.Store(true)
	return f.Reader.Read(p)
}

// WriteTo keeps the reads visible.
func (f *flagged) WriteTo(w io.Writer) (int64, error) {
	f.read.Store(true)
	return f.Reader.WriteTo(w)
}

func (f *flagged) Close() error { return nil }

func (f *flagged) judge(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err // what it adds, the method and the URL, is known
	}
	if !f.read.Load() {
		return &notSent{err}
	}
	return err
}

// cancelling is a body whose request ends with it.
type cancelling struct {
	io.ReadCloser
	cancel func()
}

func (c *cancelling) Close() error {
	err := c.ReadCloser.Close()
	c.cancel()
	return err
}
