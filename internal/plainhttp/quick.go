package plainhttp

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// quick reads the requests of a connection that are as simple as most are, and
// has one of everything for all of them. http.ReadRequest would read them alike,
// and takes twice as long: it respells the names, and makes a string for
// every value.
type quick struct {
	blank   *http.Request // without anything but the connection's context
	request *http.Request
	header  http.Header
	values  [maxQuick]string
}

func newQuick(c *conn) quick {
	blank := new(http.Request).WithContext(c.context)
	blank.RemoteAddr = c.remote
	return quick{blank: blank, request: new(*blank), header: make(http.Header, 12)}
}

// maxQuick is how many headers a simple request has at most.
const maxQuick = 24

// found is a header: its name, and where in the head its value is.
type found struct {
	name     string
	from, to int
}

// read reads the head of a request, up to the empty line, if it is simple: GET,
// HEAD, PUT or DELETE in HTTP/1.1, without a body, and with headers that are all
// known, each of them there once. It returns nil if it is not. The request is
// valid until forget.
func (q *quick) read(head []byte, known map[string]string) *http.Request {
	method, target, at := firstLine(head)
	if method == "" {
		return nil
	}
	var room [maxQuick]found
	fields, ok := findFields(head, at, known, room[:0])
	if !ok {
		return nil
	}
	// The target has a string of its own: handlers keep names that are parts of
	// it, and would keep all the headers with them.
	uri := string(target)
	address, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil
	}
	r := q.request
	*r = *q.blank
	r.Method, r.URL, r.RequestURI = method, address, uri
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.1", 1, 1
	r.Body, r.Header = http.NoBody, q.header
	if !q.fill(r, string(head), fields) {
		q.forget()
		return nil
	}
	return r
}

// fill gives the request its headers. It reports whether they are as they are in
// a simple request.
func (q *quick) fill(r *http.Request, text string, fields []found) bool {
	for i, f := range fields {
		value := strings.Trim(text[f.from:f.to], " ")
		if f.name == "Host" {
			if r.Host != "" || value == "" || !httpguts.ValidHostHeader(value) {
				return false
			}
			r.Host = value
			continue
		}
		if _, twice := q.header[f.name]; twice || !mayBeSimple(f.name, value) {
			return false
		}
		q.values[i] = value
		q.header[f.name] = q.values[i : i+1 : i+1]
	}
	return r.Host != ""
}

// mayBeSimple reports whether a request with such a header has no body, and
// leaves the connection as it is.
func mayBeSimple(name, value string) bool {
	switch name {
	case "Content-Length":
		return value == "0"
	case "Connection":
		return value == "keep-alive"
	}
	return true
}

// forget lets go of the last request, so that a connection that waits for the
// next one keeps nothing of it.
func (q *quick) forget() {
	*q.request = *q.blank
	clear(q.header)
	clear(q.values[:])
}

// firstLine reads the first line of a head. It returns where the next one
// begins, and no method if this one is not simple.
func firstLine(head []byte) (method string, target []byte, next int) {
	end := bytes.IndexByte(head, '\n')
	line, ok := bytes.CutSuffix(head[:max(end, 0)], []byte(" HTTP/1.1\r"))
	if !ok {
		return "", nil, 0
	}
	word, target, _ := bytes.Cut(line, []byte{' '})
	if len(target) == 0 || target[0] != '/' || bytes.HasPrefix(target, []byte("//")) || !isPlain(target, '!') {
		return "", nil, 0
	}
	return simpleMethods[string(word)], target, end + 1
}

var simpleMethods = map[string]string{"GET": "GET", "HEAD": "HEAD", "PUT": "PUT", "DELETE": "DELETE"}

// isPlain reports whether there is nothing but ASCII from a character on, which
// is a space or what comes after it.
func isPlain(b []byte, from byte) bool {
	for _, c := range b {
		if c < from || c > '~' {
			return false
		}
	}
	return true
}

// findFields finds the headers from a line's beginning on. It reports whether
// they are simple: known, in lines of their own, of ASCII.
func findFields(head []byte, at int, known map[string]string, fields []found) ([]found, bool) {
	for {
		n := bytes.IndexByte(head[at:], '\n')
		if n < 1 || head[at+n-1] != '\r' {
			return nil, false
		}
		line := head[at : at+n-1]
		if len(line) == 0 {
			return fields, true
		}
		colon := bytes.IndexByte(line, ':')
		if colon < 0 || len(fields) == maxQuick {
			return nil, false
		}
		name := known[string(line[:colon])]
		if name == "" || !isPlain(line[colon+1:], ' ') {
			return nil, false
		}
		fields = append(fields, found{name, at + colon + 1, at + n - 1})
		at += n + 1
	}
}

// spellings returns the names that the server knows, and those of its own, by
// each way in which clients spell them.
func spellings(names []string) map[string]string {
	own := []string{"Host", "Content-Length", "Connection"}
	known := make(map[string]string, 2*(len(names)+len(own)))
	for _, list := range [][]string{own, names} {
		for _, name := range list {
			name = http.CanonicalHeaderKey(name)
			known[name], known[strings.ToLower(name)] = name, name
		}
	}
	for _, name := range []string{"Transfer-Encoding", "Trailer", "Upgrade", "Expect", "Pragma"} { // whoever sends one is not simple
		delete(known, name)
		delete(known, strings.ToLower(name))
	}
	return known
}
