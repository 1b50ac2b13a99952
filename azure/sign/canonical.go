package sign

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// SentPath is the path of a request as the client wrote it. URL.EscapedPath may
// escape what the client did not.
func SentPath(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" {
		return r.URL.EscapedPath() // not read by a server
	}
	if scheme, rest, ok := strings.Cut(path, "://"); ok && !strings.ContainsAny(scheme, "/:") { // absolute
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	return path
}

// resource is what a request addresses.
type resource struct {
	account string
	path    string // as sent
	query   Query
}

// appendCanonical adds the resource as Shared Key has it: the parameters by
// name, each with its values in order.
func (r resource) appendCanonical(b []byte) []byte {
	b = r.appendBase(b)
	sorted := r.query
	if !slices.IsSortedFunc(sorted, compareParameters) {
		sorted = slices.SortedFunc(slices.Values(sorted), compareParameters)
	}
	for i, p := range sorted {
		if i > 0 && p.Name == sorted[i-1].Name {
			b = append(append(b, ','), p.Value...)
			continue
		}
		b = append(append(b, '\n'), p.Name...)
		b = append(append(b, ':'), p.Value...)
	}
	return b
}

func compareParameters(x, y Parameter) int {
	return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Value, y.Value))
}

// appendLite adds the resource as Shared Key Lite has it.
func (r resource) appendLite(b []byte) []byte {
	b = r.appendBase(b)
	if !r.query.Has("comp") {
		return b
	}
	return append(append(b, "?comp="...), r.query.Get("comp")...)
}

func (r resource) appendBase(b []byte) []byte {
	b = append(append(b, '/'), r.account...)
	if r.path == "" {
		return append(b, '/')
	}
	return append(b, r.path...)
}

// matchFull builds the texts of which one must have been signed with Shared Key, and
// reports whether one was. The callback must not keep a text.
func matchFull(r *http.Request, what resource, signed func([]byte) bool) bool {
	h := r.Header
	return anyOrder(h, what.appendCanonical, signed,
		r.Method,
		first(h, "Content-Encoding"),
		first(h, "Content-Language"),
		contentLength(r),
		first(h, "Content-Md5"),
		first(h, "Content-Type"),
		date(h),
		first(h, "If-Modified-Since"),
		first(h, "If-Match"),
		first(h, "If-None-Match"),
		first(h, "If-Unmodified-Since"),
		first(h, "Range"))
}

// matchLite is matchFull for Shared Key Lite.
func matchLite(r *http.Request, what resource, signed func([]byte) bool) bool {
	h := r.Header
	return anyOrder(h, what.appendLite, signed,
		r.Method,
		first(h, "Content-Md5"),
		first(h, "Content-Type"),
		date(h))
}

// first is h.Get for a name in canonical form: making it canonical costs more than
// the lookup.
func first(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// contentLength is empty for an empty body, except in versions before
// 2015-02-21, which signed the zero.
func contentLength(r *http.Request) string {
	if r.ContentLength > 0 {
		return strconv.FormatInt(r.ContentLength, 10)
	}
	version := first(r.Header, "X-Ms-Version")
	if r.ContentLength == 0 && first(r.Header, "Content-Length") != "" && version != "" && version < "2015-02-21" {
		return "0"
	}
	return ""
}

// date is empty where x-ms-date takes its place, so that clients that
// cannot choose the Date header can sign.
func date(h http.Header) string {
	if first(h, "X-Ms-Date") != "" {
		return ""
	}
	return first(h, "Date")
}
