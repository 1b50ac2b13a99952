package sign

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/leasehold/leasehold/server/blob/fault"
)

// AsSent is the path of a request as the client wrote it. URL.EscapedPath is
// not always that: it escapes anew what the client left bare.
func AsSent(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	if path == "" {
		return r.URL.EscapedPath() // not read by a server
	}
	if _, rest, absolute := strings.Cut(path, "://"); absolute && path[0] != '/' {
		_, path, _ = strings.Cut(rest, "/")
		path = "/" + path
	}
	return path
}

// resource is what a request addresses.
type resource struct {
	account    string
	path       string     // as sent
	parameters url.Values // names in lower case, values decoded
}

// decodeQuery refuses what url.ParseQuery drops in silence, since a parameter
// that is not signed must not exist. A semicolon is an ordinary character.
func decodeQuery(raw string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		if pair == "" {
			continue
		}
		name, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		value, err2 := url.QueryUnescape(value)
		if err != nil || err2 != nil {
			return nil, fault.New(fault.InvalidQueryParameterValue).With("The query has a % that does not begin an escape.")
		}
		name = strings.ToLower(name)
		values[name] = append(values[name], value)
	}
	return values, nil
}

// canonical is the resource for Shared Key.
func (r resource) canonical() string {
	var b strings.Builder
	b.WriteString(r.base())
	for _, name := range sortedNames(r.parameters, strings.Compare) {
		values := slices.Sorted(slices.Values(r.parameters[name]))
		b.WriteString("\n" + name + ":" + strings.Join(values, ","))
	}
	return b.String()
}

// brief is the resource for Shared Key Lite.
func (r resource) brief() string {
	if !r.parameters.Has("comp") {
		return r.base()
	}
	return r.base() + "?comp=" + r.parameters.Get("comp")
}

func (r resource) base() string {
	if r.path == "" {
		return "/" + r.account + "/"
	}
	return "/" + r.account + r.path
}

// full is the text that Shared Key signs.
func full(r *http.Request, what resource) []string {
	h := r.Header
	head := strings.Join([]string{
		r.Method,
		h.Get("Content-Encoding"),
		h.Get("Content-Language"),
		contentLength(r),
		h.Get("Content-MD5"),
		h.Get("Content-Type"),
		date(h),
		h.Get("If-Modified-Since"),
		h.Get("If-Match"),
		h.Get("If-None-Match"),
		h.Get("If-Unmodified-Since"),
		h.Get("Range"),
		"",
	}, "\n")
	return eachOrder(h, head, what.canonical())
}

// lite is the text that Shared Key Lite signs.
func lite(r *http.Request, what resource) []string {
	h := r.Header
	head := strings.Join([]string{
		r.Method,
		h.Get("Content-MD5"),
		h.Get("Content-Type"),
		date(h),
		"",
	}, "\n")
	return eachOrder(h, head, what.brief())
}

// contentLength is empty for an empty body, except in versions before
// 2015-02-21, which signed the zero.
func contentLength(r *http.Request) string {
	if r.ContentLength > 0 {
		return strconv.FormatInt(r.ContentLength, 10)
	}
	version := r.Header.Get("X-Ms-Version")
	if r.ContentLength == 0 && r.Header.Get("Content-Length") != "" && version != "" && version < "2015-02-21" {
		return "0"
	}
	return ""
}

// date is empty where x-ms-date takes its place, so that whoever cannot choose
// the Date header can sign all the same.
func date(h http.Header) string {
	if h.Get("X-Ms-Date") != "" {
		return ""
	}
	return h.Get("Date")
}
