// Package api is the JSON door: plain HTTP for agents and services in any
// language.
//
// Every call stands once, in a table (table.go): its method, path, roles, the
// types that go in and come out, its codes and an example. The router, the
// OpenAPI document at /openapi.json and the page at /docs are made from that
// table, so they cannot disagree. Handlers return a value or an error; one
// place (serve.go) writes answers, counts and logs.
//
// The door promises to its callers:
//
//   - What it cannot read exactly it refuses by name, and then nothing happened.
//   - Every error is a problem document (RFC 9457) with a stable code.
//   - A store that does not answer in time is store_timeout, which says that
//     the outcome is unknown; waiting in a queue is not counted.
//   - A grant that could not be delivered, and that nobody could ask for again,
//     is given back at once.
//   - A lease id leaves only in the answer to its owner. Bodies are never
//     logged, and log lines name the route, not the path.
//
// Who the caller is comes with the request's context; see package auth, whose
// Guard stands in front.
package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/turns"
	"github.com/leasehold/leasehold/server/auth"
)

// Options adjusts a Server. Nil and the zero value are the defaults.
type Options struct {
	// Logger hears of requests (Debug), of operators' acts (Info) and of
	// failures (Error). Nil: nobody does.
	Logger *slog.Logger

	// StoreTimeout limits each operation of the store, waiting not counted.
	// Zero: 5 s.
	StoreTimeout time.Duration

	// BodyTimeout is how long a request's body may take to arrive. Zero: 10 s.
	BodyTimeout time.Duration

	// WriteTimeout is how long a client may take to accept what is written to
	// it, each write to a stream on its own. Zero: 10 s.
	WriteTimeout time.Duration

	// MaxBody is the limit of a body in bytes. Zero: 64 KiB, which holds the
	// largest valid request however its strings are escaped.
	MaxBody int64

	// MaxWaiters limits the requests that wait in queues. Zero: 10,000.
	MaxWaiters int
	// MaxWaitersPerCaller limits those of one caller. Zero: 1,000.
	MaxWaitersPerCaller int
	// MaxStreams limits the event streams. Zero: 1,000.
	MaxStreams int
	// MaxStreamsPerCaller limits those of one caller. Zero: 32.
	MaxStreamsPerCaller int
	// MaxScans limits the requests that read the history at the same time.
	// Zero: 16.
	MaxScans int
	// MaxScansPerCaller limits those of one caller. Zero: 4.
	MaxScansPerCaller int

	// Spend counts one more operation against the rate of the context's caller,
	// or says when there is room for it again: the operations of a batch count
	// like requests. Nil: auth.AllowOperation.
	Spend func(context.Context) (wait time.Duration, ok bool)

	// TempDir is where a backup is put together. Empty: os.TempDir().
	TempDir string

	// Version is told by /metrics and /openapi.json. Empty: "dev".
	Version string
}

func (o *Options) withDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	if full.Spend == nil {
		full.Spend = auth.AllowOperation
	}
	orElse(&full.StoreTimeout, 5*time.Second)
	orElse(&full.BodyTimeout, 10*time.Second)
	orElse(&full.WriteTimeout, 10*time.Second)
	orElse(&full.MaxBody, 64<<10)
	orElse(&full.MaxWaiters, 10_000)
	orElse(&full.MaxWaitersPerCaller, 1_000)
	orElse(&full.MaxStreams, 1_000)
	orElse(&full.MaxStreamsPerCaller, 32)
	orElse(&full.MaxScans, 16)
	orElse(&full.MaxScansPerCaller, 4)
	orElse(&full.Version, "dev")
	return full
}

func orElse[T comparable](value *T, fallback T) {
	var zero T
	if *value == zero {
		*value = fallback
	}
}

// Server serves one store. Make it with New.
type Server struct {
	store     leasehold.Store
	o         Options
	endpoints []*endpoint
	router    router
	batchable map[string]*endpoint // by their ID
	metrics   *metrics
	waiters   *crowd
	streams   *crowd
	scans     *crowd
	writing   *turns.Turns // to streams
	leasing   leasingCheck
	helpers   atomic.Int64 // operations of batches that run beside others

	// draining ends when Drain is called.
	draining context.Context
	drain    context.CancelFunc

	// The documents are made when they are first asked for: most servers never
	// are, and tests make many servers.
	openapi func() []byte
	page    func() []byte
}

// New returns a server in front of the store, which stays the caller's to
// close, after the last request.
func New(store leasehold.Store, o *Options) *Server {
	s := &Server{store: store, o: o.withDefaults()}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.waiters = newCrowd(s.o.MaxWaiters, s.o.MaxWaitersPerCaller)
	s.streams = newCrowd(s.o.MaxStreams, s.o.MaxStreamsPerCaller)
	s.writing = turns.New(streamShare, longestTurn)
	s.scans = newCrowd(s.o.MaxScans, s.o.MaxScansPerCaller)
	s.endpoints = s.table()
	s.router = newRouter(s.endpoints)
	s.batchable = batchable(s.endpoints)
	s.metrics = newMetrics(s.endpoints)
	s.openapi = sync.OnceValue(func() []byte { return openapi(s.endpoints, s.o.Version) })
	s.page = sync.OnceValue(func() []byte { return page(s.endpoints) })
	return s
}

// Handler returns the door, without authentication: it believes the caller
// that the request's context carries (auth.From) and refuses everything but
// health and documentation where there is none.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Drain lets everybody go who would hold up a shutdown. Waiters are answered
// with store_unavailable and take no lease with them, event streams end, and
// /health/ready says no; other requests are served as before. Call it once,
// before http.Server.Shutdown.
func (s *Server) Drain() { s.drain() }

// errDraining is why a wait or a stream ended.
var errDraining = errors.New("the server is shutting down")

// untilDrained returns a context that also ends, with errDraining as its cause,
// when the server lets its waiters go.
func (s *Server) untilDrained(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.draining, func() { cancel(errDraining) })
	return ctx, func() { stop(); cancel(nil) }
}
