package serve

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
)

const (
	maxHeader = 32 << 10 // bytes
	// maxDrain bounds how much of a refused body is read, so that a client that
	// sends all of it before it reads sees the refusal rather than a reset.
	maxDrain = 16 << 20
)

// newHTTPServer serves in the clear, or with TLS if there is a config. Its
// timeouts hold where the handler sets no other ones: for refusals by the
// middleware, and for what net/http answers by itself.
func newHTTPServer(handler http.Handler, config *tls.Config, t Timeouts, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           drainBody(handler),
		TLSConfig:         config,
		ReadHeaderTimeout: t.Header,
		ReadTimeout:       t.Exchange,
		// Longer, since net/http waits for a small body before it answers.
		WriteTimeout:   2 * t.Exchange,
		HTTP2:          &http.HTTP2Config{WriteByteTimeout: t.Exchange},
		IdleTimeout:    t.Idle,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       stdlog.New(&httpLog{log}, "", 0),
	}
}

// drainBody reads the rest of a body after the answer is out. Closing a
// connection with unread bytes resets it, and a client that still sends might
// never see the answer. The read deadline still holds: a handler lifts it only
// after the whole body. HTTP/2 needs none of this.
func drainBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
		if r.ContentLength == 0 || r.ProtoMajor > 1 {
			return
		}
		if http.NewResponseController(w).Flush() == nil {
			_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		}
	})
}

// httpLog logs what net/http reports. Most of it is the clients' doing, broken
// handshakes and half requests; a panic is ours.
type httpLog struct{ log *slog.Logger }

func (l *httpLog) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.Contains(line, []byte("panic")) {
		level = slog.LevelError
	}
	l.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
