package blob

import (
	"net/http"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/blob/catalog"
)

// access reads what the request shows to get at a thing: its lease id and its
// conditional headers.
func (c *call) access() (catalog.Access, error) {
	id, err := c.leaseID("x-ms-lease-id")
	if err != nil {
		return catalog.Access{}, err
	}
	conditions, err := c.conditions()
	return catalog.Access{Lease: id, If: conditions, Caller: c.caller()}, err
}

// leaseID reads a lease id from a header; the zero ID if it is not there.
func (c *call) leaseID(name string) (leasehold.ID, error) {
	text := c.r.Header.Get(name)
	if text == "" {
		return leasehold.ID{}, nil
	}
	id, err := leasehold.ParseID(text)
	if err != nil {
		return id, badHeader(name, "it is no GUID")
	}
	return id, nil
}

// caller returns the network address that the history of leases will tell.
func (c *call) caller() string {
	if a := c.remote(); a.IsValid() {
		return a.String()
	}
	return ""
}

// conditions reads the conditional headers.
func (c *call) conditions() (catalog.Conditions, error) { return c.conditionsOf("") }

// sourceConditions reads the conditional headers that are about the source of
// a copy.
func (c *call) sourceConditions() (catalog.Conditions, error) { return c.conditionsOf("x-ms-source-") }

func (c *call) conditionsOf(prefix string) (catalog.Conditions, error) {
	h := c.r.Header
	tags := prefix + "if-tags"
	if prefix == "" {
		tags = "x-ms-if-tags"
	}
	k := catalog.Conditions{Match: h.Get(prefix + "If-Match"), NoneMatch: h.Get(prefix + "If-None-Match"), Tags: h.Get(tags)}
	var r headerReader
	k.ModifiedSince = r.time(h, prefix+"If-Modified-Since")
	k.UnmodifiedSince = r.time(h, prefix+"If-Unmodified-Since")
	if prefix == "" {
		k.SequenceLE = r.number(h, "x-ms-if-sequence-number-le")
		k.SequenceLT = r.number(h, "x-ms-if-sequence-number-lt")
		k.SequenceEQ = r.number(h, "x-ms-if-sequence-number-eq")
		k.MaxSize = r.number(h, "x-ms-blob-condition-maxsize")
		k.AppendPosition = r.number(h, "x-ms-blob-condition-appendpos")
	}
	return k, r.err
}

// headerReader reads headers and keeps the first thing that is wrong with them.
type headerReader struct{ err error }

func (r *headerReader) time(h http.Header, name string) time.Time {
	text := h.Get(name)
	if text == "" {
		return time.Time{}
	}
	t, err := http.ParseTime(text)
	if err != nil && r.err == nil {
		r.err = badHeader(name, "it is no date, as in Mon, 02 Jan 2006 15:04:05 GMT")
	}
	return t
}

// number reads a whole number that is not negative; nil if it is not there.
func (r *headerReader) number(h http.Header, name string) *int64 {
	text := h.Get(name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if (err != nil || n < 0) && r.err == nil {
		r.err = badHeader(name, "it is no number from 0 on")
	}
	return &n
}
