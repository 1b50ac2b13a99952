package plainhttp

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"
)

// response is the answer to a request.
type response struct {
	conn    *conn
	request *http.Request
	body    body // of the request
	header  http.Header
	status  int   // 0: it has not begun
	length  int64 // that was announced; -1: none was
	written int64
	close   bool // the connection ends with it
}

func (w *response) Header() http.Header { return w.header }

func (w *response) began() bool { return w.status != 0 }

// WriteHeader begins the answer. A rest of the request is read before: some
// clients send all of it before they read anything. Others send nothing before
// they have the answer, and are not waited for if the connection ends anyway.
func (w *response) WriteHeader(status int) {
	switch {
	case w.began():
		w.conn.server.logf("http: superfluous WriteHeader(%d) after %d", status, w.status)
		return
	case status < 200 || status > 999:
		panic("plainhttp: status " + strconv.Itoa(status))
	}
	w.status = status
	w.measure()
	if (!w.close || w.body.here()) && !w.body.drain() {
		w.close = true
	}
	w.writeHead()
}

// measure finds out how long the answer will be.
func (w *response) measure() {
	w.length = -1
	w.close = w.close || w.conn.server.closing.Load() || httpguts.HeaderValuesContainsToken(w.header["Connection"], "close")
	if values := w.header["Content-Length"]; len(values) > 0 {
		if n, err := strconv.ParseInt(values[0], 10, 64); err == nil && n >= 0 {
			w.length = n
		} else {
			delete(w.header, "Content-Length")
		}
	}
	switch {
	case !w.mayHaveBody():
		delete(w.header, "Content-Length")
		if w.status == http.StatusNotModified {
			delete(w.header, "Content-Type")
		}
	case w.hasBody() && w.length < 0:
		w.close = true // its end is the connection's
	}
}

// hasBody reports whether the answer has one.
func (w *response) hasBody() bool { return w.mayHaveBody() && w.request.Method != http.MethodHead }

// mayHaveBody reports whether answers of this status have one.
func (w *response) mayHaveBody() bool {
	return w.status != http.StatusNoContent && w.status != http.StatusNotModified
}

// writeHead writes the first line and the headers.
func (w *response) writeHead() {
	out := w.conn.out
	protocol := "HTTP/1.1 "
	if !w.request.ProtoAtLeast(1, 1) {
		protocol = "HTTP/1.0 "
	}
	var room [32]byte
	out.WriteString(protocol)
	out.Write(strconv.AppendInt(room[:0], int64(w.status), 10))
	out.WriteString(" ")
	out.WriteString(statusText(w.status))
	out.WriteString("\r\n")
	w.writeHeaders()
	if _, has := w.header["Date"]; !has {
		out.WriteString("Date: ")
		out.WriteString(date(time.Now()))
		out.WriteString("\r\n")
	}
	if w.close {
		out.WriteString("Connection: close\r\n")
	}
	out.WriteString("\r\n")
}

// date returns the time as a header has it. It is the same for all answers of a
// second.
func date(now time.Time) string {
	second := now.Unix()
	if last := lastDate.Load(); last != nil && last.second == second {
		return last.text
	}
	made := &dated{second, now.UTC().Format(http.TimeFormat)}
	lastDate.Store(made)
	return made.text
}

type dated struct {
	second int64
	text   string
}

var lastDate atomic.Pointer[dated]

func statusText(status int) string {
	if text := http.StatusText(status); text != "" {
		return text
	}
	return "status code " + strconv.Itoa(status)
}

// writeHeaders writes the handler's headers, by name, but for those that say how
// the answer is sent: that is not the handler's to know.
func (w *response) writeHeaders() {
	var room [24]field
	fields := room[:0]
	for name, values := range w.header {
		if name != "Connection" && name != "Transfer-Encoding" && httpguts.ValidHeaderFieldName(name) {
			fields = append(fields, field{name, values})
		}
	}
	slices.SortFunc(fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	out := w.conn.out
	for _, f := range fields {
		for _, value := range f.values {
			out.WriteString(f.name)
			out.WriteString(": ")
			out.WriteString(oneLine(value))
			out.WriteString("\r\n")
		}
	}
}

// field is a header.
type field struct {
	name   string
	values []string
}

// oneLine keeps a value from becoming a header of its own.
func oneLine(value string) string {
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		value = strings.NewReplacer("\r", " ", "\n", " ").Replace(value)
	}
	return strings.TrimSpace(value)
}

// Write writes content, of which there may not be more than was announced.
func (w *response) Write(p []byte) (int, error) {
	if !w.began() {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case !w.mayHaveBody():
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.written+int64(len(p)) > w.length:
		return 0, http.ErrContentLength
	case w.request.Method == http.MethodHead:
		w.written += int64(len(p))
		return len(p), nil
	}
	n, err := w.conn.out.Write(p)
	w.written += int64(n)
	return n, err
}

// finish ends the answer.
func (w *response) finish() {
	if !w.began() {
		if _, has := w.header["Content-Length"]; !has && w.request.Method != http.MethodHead {
			w.header["Content-Length"] = []string{"0"}
		}
		w.WriteHeader(http.StatusOK)
	}
	if w.hasBody() && w.written < w.length {
		w.close = true // the client waits for the rest, and must not take another answer for it
	}
}

// Flush is FlushError for those who ask for an http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError and SetReadDeadline serve http.ResponseController.

func (w *response) FlushError() error {
	if !w.began() {
		w.WriteHeader(http.StatusOK)
	}
	return w.conn.out.Flush()
}

// hurry limits the time for a body that no handler reads.
func (w *response) hurry() {
	if !w.body.here() {
		_ = w.conn.readBy(time.Now().Add(w.conn.server.ReadHeaderTimeout))
	}
}

// Patient tells handlers what the server does by itself: it gives up on clients
// that do not take the answer, and waits for those that still send after it.
func (w *response) Patient() {}

func (w *response) SetReadDeadline(t time.Time) error { return w.conn.readBy(t) }
