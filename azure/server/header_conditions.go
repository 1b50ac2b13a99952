package server

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/azure/azerr"
	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/catalog/tagquery"
)

// readAccess reads the lease id and the conditions that the operation has, and
// keeps callers who may only create from overwriting.
func (c *call) readAccess() (err error) {
	mode := c.op.Access
	if mode == accessNone {
		return nil
	}
	c.access.Caller = c.caller()
	if mode != accessConditions {
		if c.access.Lease, err = c.leaseID("X-Ms-Lease-Id"); err != nil {
			return err
		}
	}
	if mode != accessLease {
		if c.access.If, err = c.conditions(); err != nil {
			return err
		}
	}
	if mode == accessTags {
		if err := c.replaceTagConditions(); err != nil {
			return err
		}
	}
	if c.op.Overwrites && !c.may("w") {
		c.access.If.NoneMatch, c.createOnly = "*", true
	}
	return nil
}

// leaseID reads a lease id from a header; the zero ID if it is not there.
func (c *call) leaseID(name string) (leasehold.ID, error) {
	r := headerReader{writes: c.op.Write}
	text := r.text(c.r.Header, name)
	if text == "" || r.err != nil {
		return leasehold.ID{}, r.err
	}
	id, err := leasehold.ParseID(text)
	if err != nil {
		return id, badHeader(name, "it is no GUID")
	}
	return id, nil
}

// caller returns the network address for the history of leases.
func (c *call) caller() string {
	if a := c.remote(); a.IsValid() {
		return a.String()
	}
	return ""
}

// first is h.Get for a name in canonical form: every request looks for a dozen
// headers, and making a name canonical costs more than the lookup.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// conditionNames are the names of one set of conditional headers.
type conditionNames struct{ match, noneMatch, modified, unmodified, tags string }

var (
	plainConditions  = conditionNames{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "X-Ms-If-Tags"}
	sourceConditions = conditionNames{"X-Ms-Source-If-Match", "X-Ms-Source-If-None-Match",
		"X-Ms-Source-If-Modified-Since", "X-Ms-Source-If-Unmodified-Since", "X-Ms-Source-If-Tags"}
	blobConditions = conditionNames{"X-Ms-Blob-If-Match", "X-Ms-Blob-If-None-Match",
		"X-Ms-Blob-If-Modified-Since", "X-Ms-Blob-If-Unmodified-Since", "X-Ms-Blob-If-Tags"}
)

// conditions reads the conditional headers.
func (c *call) conditions() (catalog.Conditions, error) {
	r := headerReader{writes: c.op.Write}
	h := c.r.Header
	k := r.conditions(h, plainConditions)
	if k.Tags != "" {
		if err := c.authorizeTags("A condition on tags"); err != nil {
			return k, err
		}
	}
	k.SequenceLE = r.sequence(h, "X-Ms-If-Sequence-Number-Le")
	k.SequenceLT = r.sequence(h, "X-Ms-If-Sequence-Number-Lt")
	k.SequenceEQ = r.sequence(h, "X-Ms-If-Sequence-Number-Eq")
	k.MaxSize = r.number(h, "X-Ms-Blob-Condition-Maxsize")
	k.AppendPosition = r.number(h, "X-Ms-Blob-Condition-Appendpos")
	return k, r.err
}

// replaceTagConditions prefers the conditions on a blob under names of their own:
// in operations on tags the plain names may be meant for the tags.
func (c *call) replaceTagConditions() error {
	r := headerReader{writes: c.op.Write}
	if k := r.conditions(c.r.Header, blobConditions); k != (catalog.Conditions{}) {
		k.Tags = c.access.If.Tags
		c.access.If = k
	}
	return r.err
}

// sourceConditions reads the conditions on the source of a copy. authorizeSource
// has checked that the caller may use its tags.
func (c *call) sourceConditions() (catalog.Conditions, error) {
	r := headerReader{writes: c.op.Write}
	k := r.conditions(c.r.Header, sourceConditions)
	return k, r.err
}

// headerReader reads headers and keeps the first error.
type headerReader struct {
	writes bool // the request changes something
	err    error
}

func (r *headerReader) conditions(h http.Header, n conditionNames) catalog.Conditions {
	if text := first(h, n.tags); text != "" && r.err == nil {
		_, r.err = tagquery.ParseCondition(text)
	}
	return catalog.Conditions{
		Match: r.text(h, n.match), NoneMatch: r.text(h, n.noneMatch), Tags: r.text(h, n.tags),
		ModifiedSince: r.time(h, n.modified), UnmodifiedSince: r.time(h, n.unmodified),
	}
}

func (r *headerReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// text reads a header; "" if it is not there. An empty one guards nothing, though
// its sender believes that it does: a write is refused then. Reads do no harm, and
// some clients send empty conditions to Azure.
func (r *headerReader) text(h http.Header, name string) string {
	values := h[name]
	switch {
	case len(values) == 0:
		return ""
	case len(values) > 1:
		r.fail(badHeader(name, "it is there more than once"))
	case values[0] == "" && r.writes:
		r.fail(badHeader(name, "it is empty; leave it out"))
	}
	return values[0]
}

// time reads a date; nil if it is not there.
func (r *headerReader) time(h http.Header, name string) *time.Time {
	text := r.text(h, name)
	if text == "" {
		return nil
	}
	t, err := http.ParseTime(text)
	if err != nil {
		r.fail(badHeader(name, "it is no date, as in Mon, 02 Jan 2006 15:04:05 GMT"))
	}
	return &t
}

// sequence reads a page blob's sequence number. Azure has another code for a
// negative one than for other numbers.
func (r *headerReader) sequence(h http.Header, name string) *int64 {
	if text := first(h, name); strings.HasPrefix(text, "-") && r.err == nil {
		r.err = azerr.New(azerr.InvalidInput).With("The header %s must not be negative.", asDocumented(name))
	}
	return r.number(h, name)
}

// number reads a whole number that is not negative; nil if it is not there.
func (r *headerReader) number(h http.Header, name string) *int64 {
	text := r.text(h, name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		r.fail(badHeader(name, "it is no number from 0 on"))
	}
	return &n
}
