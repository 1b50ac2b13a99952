package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

var emptyObject = []byte("{}")

// readBody reads the body and makes sure that it is one JSON object. A body
// that is not there is an empty one.
func (c *call) readBody() ([]byte, error) {
	data, err := c.bodyBytes()
	c.read = err == nil
	switch {
	case err != nil:
		return nil, err
	case len(data) == 0:
		return emptyObject, nil
	case !isJSON(c.r.Header.Get("Content-Type")):
		return nil, notJSON()
	}
	return data, checkJSON(data)
}

// maxBody is how many bytes the body may have.
func (c *call) maxBody() int64 {
	if c.endpoint != nil && c.endpoint.most > 0 {
		return c.endpoint.most
	}
	return c.s.o.MaxBody
}

func (c *call) bodyBytes() ([]byte, error) {
	limit := c.maxBody()
	switch {
	case c.r.ContentLength > limit:
		return nil, tooLarge(limit)
	case c.r.ContentLength > 0 && !isJSON(c.r.Header.Get("Content-Type")):
		return nil, notJSON()
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err != nil {
		return nil, c.unreadable(err)
	}
	// From here on reading only waits for the client to leave, which has all
	// the time in the world.
	_ = c.rc.SetReadDeadline(time.Time{})
	return data, nil
}

func (c *call) unreadable(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return invalid("body", fmt.Sprintf("did not arrive within %v", c.s.o.BodyTimeout))
	}
	return invalid("body", "ended before it was complete")
}

// skipBody makes an end of a body that nobody read. What cannot be skipped in
// time costs the connection: it would be taken for the next request.
func (c *call) skipBody() {
	if c.read || c.r.ContentLength == 0 {
		return
	}
	c.read = true
	limit := c.maxBody()
	if c.r.ContentLength <= limit {
		n, err := io.Copy(io.Discard, io.LimitReader(c.r.Body, limit+1))
		if err == nil && n <= limit {
			return
		}
	}
	c.w.Header().Set("Connection", "close")
}

func tooLarge(limit int64) error {
	return &leasehold.Error{Reason: leasehold.ReasonTooLarge, Field: "body",
		Problem: fmt.Sprintf("has too many bytes; the limit is %d", limit)}
}

func notJSON() error {
	return &leasehold.Error{Reason: leasehold.ReasonMediaType, Field: "Content-Type", Problem: "wants application/json"}
}

// isJSON says whether a Content-Type is JSON in the one encoding that JSON has.
func isJSON(header string) bool {
	if header == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(header)
	charset, sent := params["charset"]
	return err == nil && media == "application/json" && (!sent || strings.EqualFold(charset, "utf-8"))
}
