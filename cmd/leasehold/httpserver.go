package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	stdlog "log"
	"log/slog"
	"net/http"
	"time"
)

const (
	maxHeader = 32 << 10 // bytes
	// maxDrain is how much of a refused body is read, so that a client that
	// sends all of it before it reads sees the refusal rather than a reset.
	maxDrain = 16 << 20
)

// timeouts end connections that stand still. There is none on a whole request:
// waiting is what clients come for.
type timeouts struct {
	header   time.Duration // for the head of a request
	idle     time.Duration // between two requests
	exchange time.Duration // for the body of a request, and for the client to take the answer
	stall    time.Duration // for a blob's client, or the disk, to make progress
}

var defaultTimeouts = timeouts{
	header: 5 * time.Second, idle: 2 * time.Minute, exchange: 10 * time.Second, stall: time.Minute,
}

// newServer serves a handler in the clear, or with TLS if there is a config. Its
// timeouts hold wherever the handler sets no other ones: for refusals in front
// of the APIs, and for what net/http answers by itself.
func newServer(handler http.Handler, config *tls.Config, t timeouts, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           drain(handler),
		TLSConfig:         config,
		ReadHeaderTimeout: t.header,
		ReadTimeout:       t.exchange,
		// Longer, since net/http waits for a small body before it answers.
		WriteTimeout:   2 * t.exchange,
		HTTP2:          &http.HTTP2Config{WriteByteTimeout: t.exchange},
		IdleTimeout:    t.idle,
		MaxHeaderBytes: maxHeader,
		ErrorLog:       stdlog.New(&httpLog{log}, "", 0),
	}
}

// drain reads what a handler has left of a body after the answer is out. To
// close a connection with unread bytes resets it, and the client, which still
// sends, might never see the answer. The read deadline is the one in force:
// whoever has not read a body to its end has not lifted it. HTTP/2 needs none of
// this.
func drain(next http.Handler) http.Handler {
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

// httpLog takes what net/http has to say. Most of it is about strangers: broken
// handshakes, half requests. A panic is about us.
type httpLog struct{ log *slog.Logger }

func (l *httpLog) Write(line []byte) (int, error) {
	level := slog.LevelDebug
	if bytes.Contains(line, []byte("panic")) {
		level = slog.LevelError
	}
	l.log.Log(context.Background(), level, string(bytes.TrimSpace(line)))
	return len(line), nil
}
