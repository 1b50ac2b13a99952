package api

import (
	"bytes"
	"net/http"

	"github.com/leasehold/leasehold/server/internal/rest"
)

// metricsMedia is what the page is documented as. Scrapers may get another format,
// which they have asked for.
const metricsMedia = "text/plain; version=0.0.4; charset=utf-8"

// metrics serves GET /metrics with the handler of the options.
func metrics(c *call, _ rest.None) error {
	if c.s.o.Metrics == nil {
		return c.unsupported()
	}
	page := &pageWriter{header: c.w.Header(), status: http.StatusOK}
	c.s.o.Metrics.ServeHTTP(page, c.r)
	return c.write(page.status, page.header.Get("Content-Type"), page.body.Bytes())
}

// pageWriter keeps an answer until it is whole, so that call.write can send it
// like any other.
type pageWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *pageWriter) Header() http.Header         { return w.header }
func (w *pageWriter) WriteHeader(status int)      { w.status = status }
func (w *pageWriter) Write(p []byte) (int, error) { return w.body.Write(p) }
