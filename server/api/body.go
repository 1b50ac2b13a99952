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
	"github.com/leasehold/leasehold/server/internal/rest"
)

var emptyObject = []byte("{}")

// readBody reads the request's body and makes sure that it is one JSON object. A
// body that is not there is an empty one.
func readBody(c *call) ([]byte, error) {
	limit, typed := maxBody(c), isJSON(c.r.Header.Get("Content-Type"))
	switch {
	case c.r.ContentLength > limit:
		return nil, tooLarge(limit)
	case c.r.ContentLength > 0 && !typed:
		return nil, errNotJSON
	}
	data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err != nil {
		return nil, bodyError(c, err)
	}
	c.bodyRead = true
	// From here on, reading only notices that the client has gone.
	_ = c.rc.SetReadDeadline(time.Time{})
	switch {
	case len(data) == 0:
		return emptyObject, nil
	case !typed: // its length was not announced
		return nil, errNotJSON
	}
	return data, rest.CheckObject(data)
}

// maxBody is how many bytes the body may have.
func maxBody(c *call) int64 {
	if c.endpoint != nil && c.endpoint.MaxBody > 0 {
		return c.endpoint.MaxBody
	}
	return c.s.o.MaxBody
}

func bodyError(c *call, err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return leasehold.Invalid("body", "did not arrive within %v", c.s.o.BodyTimeout)
	}
	return leasehold.Invalid("body", "ended before it was complete")
}

// skipBody reads the rest of a body that no handler has read. What cannot be
// skipped in time costs the connection: it would pass for the next request.
func skipBody(c *call) {
	if c.bodyRead || c.r.ContentLength == 0 {
		return
	}
	c.bodyRead = true
	limit := maxBody(c)
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

var errNotJSON = &leasehold.Error{Reason: leasehold.ReasonMediaType, Field: "Content-Type", Problem: "wants application/json"}

// isJSON reports whether a Content-Type is JSON in UTF-8, its only encoding.
func isJSON(header string) bool {
	if header == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(header)
	charset, sent := params["charset"]
	return err == nil && media == "application/json" && (!sent || strings.EqualFold(charset, "utf-8"))
}
