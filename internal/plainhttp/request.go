package plainhttp

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

// badRequest is the status of an answer to what is no request.
type badRequest int

func (b badRequest) Error() string { return http.StatusText(int(b)) }

// next waits for a request and reads all of it but the body.
func (c *conn) next() (*http.Request, error) {
	patience := c.server.IdleTimeout
	if !c.used {
		patience = c.server.ReadHeaderTimeout
	}
	head, err := c.head(patience)
	if err != nil {
		return nil, err
	}
	if r := c.quick.read(head, c.server.known); r != nil {
		_, _ = c.in.Discard(len(head)) // it is in the buffer
		return r, nil
	}
	return c.read(head)
}

// read reads any request.
func (c *conn) read(head []byte) (*http.Request, error) {
	hosts, valid := hostsIn(head)
	r, err := http.ReadRequest(c.in)
	if err != nil {
		return nil, badRequest(http.StatusBadRequest)
	}
	switch {
	case r.ProtoMajor != 1:
		return nil, badRequest(http.StatusHTTPVersionNotSupported)
	case hosts > 1, hosts == 0 && r.ProtoAtLeast(1, 1) && r.Method != http.MethodConnect:
		return nil, badRequest(http.StatusBadRequest)
	case !valid, !hasValidNames(r.Header):
		return nil, badRequest(http.StatusBadRequest)
	case expects(r) != "" && !waits(r):
		return nil, badRequest(http.StatusExpectationFailed)
	}
	r.RemoteAddr = c.remote
	return r, nil
}

// head waits until the buffer has the whole head of a request, up to the empty
// line, and returns it. It stays in the buffer.
func (c *conn) head(patience time.Duration) ([]byte, error) {
	if err := c.await(patience); err != nil {
		return nil, err
	}
	for hurried, seen := false, 0; ; {
		have, _ := c.in.Peek(c.in.Buffered())
		end := headEnd(have, seen)
		seen = len(have)
		switch limit := c.server.MaxHeaderBytes; {
		case end > limit, end < 0 && len(have) > limit:
			return nil, badRequest(http.StatusRequestHeaderFieldsTooLarge)
		case end >= 0:
			return have[:end], nil
		case len(have) == c.in.Size():
			c.grow(have, limit)
		}
		if !hurried { // the rest has to come soon
			hurried = true
			if err := c.readBy(time.Now().Add(c.server.ReadHeaderTimeout)); err != nil {
				return nil, err
			}
		}
		if _, err := c.in.Peek(len(have) + 1); err != nil {
			return nil, err
		}
	}
}

// await waits for the first byte of a request. From then on the connection is
// not idle.
func (c *conn) await(patience time.Duration) error {
	if c.in.Buffered() == 0 {
		c.shrink()
		if err := c.allow(patience); err != nil {
			return err
		}
		if _, err := c.in.Peek(1); err != nil {
			return err
		}
	}
	c.touch()
	if !c.state.CompareAndSwap(idle, active) {
		return http.ErrServerClosed
	}
	c.used = true
	return nil
}

// allow sets the deadline for the first byte of a request, unless the one that
// is set is about as late: on a busy connection it moves only now and then.
func (c *conn) allow(patience time.Duration) error {
	now := time.Now()
	if left := c.until.Sub(now); left <= patience && left > patience-patience/8 {
		return nil
	}
	return c.readBy(now.Add(patience))
}

// grow makes the buffer large enough for the largest head. Few clients need it.
func (c *conn) grow(have []byte, limit int) {
	old := bytes.NewReader(slices.Clone(have))
	c.in = bufio.NewReaderSize(io.MultiReader(old, c), limit+bufferSize)
}

// shrink takes the small buffer again: there are many connections, and they may
// be idle for long.
func (c *conn) shrink() {
	if c.in.Size() > bufferSize {
		c.in = bufio.NewReaderSize(c, bufferSize)
	}
}

// headEnd returns where the head ends, after the empty line; -1 if it does not.
// Nothing up to seen has to be looked at again. Lines end as net/http reads them,
// with or without a carriage return.
func headEnd(b []byte, seen int) int {
	for at := max(0, seen-2); ; { // the line's end may have come before the empty line
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return -1
		}
		at += n + 1
		switch rest := b[at:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return at + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return at + 2
		}
	}
}

// hostsIn counts the Host headers and reports whether all of them could be one.
// http.ReadRequest drops them, and does not look at them if the target names a
// host, too. Two parties that each believe another host can be played off
// against each other.
func hostsIn(head []byte) (n int, valid bool) {
	for valid = true; ; {
		at := bytes.IndexByte(head, '\n')
		if at < 0 {
			return n, valid
		}
		head = head[at+1:]
		if len(head) > 5 && head[4] == ':' && bytes.EqualFold(head[:4], []byte("host")) {
			n++
			value, next, _ := bytes.Cut(head[5:], []byte{'\n'})
			folded := len(next) > 0 && (next[0] == ' ' || next[0] == '\t')
			valid = valid && !folded && httpguts.ValidHostHeader(string(bytes.TrimSpace(value)))
		}
	}
}

// hasValidNames reports whether all names are. http.ReadRequest lets spaces
// pass, and "Transfer-Encoding : chunked" would be a header that means nothing
// here, and where the body ends to whoever stands in front of us.
func hasValidNames(h http.Header) bool {
	for name := range h {
		if !httpguts.ValidHeaderFieldName(name) {
			return false
		}
	}
	return true
}

func expects(r *http.Request) string {
	if values := r.Header["Expect"]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// waits reports whether the client waits to be told to send its body.
func waits(r *http.Request) bool { return strings.EqualFold(expects(r), "100-continue") }
