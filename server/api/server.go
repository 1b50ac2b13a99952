package api

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/internal/turns"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/admission"
	"github.com/leasehold/leasehold/server/internal/rest"
)

// Options adjusts a Server. Nil and the zero value are the defaults.
type Options struct {
	// Logger gets requests (Debug), what became of leases and what operators did
	// (Info), and failures (Error). Nil: nothing is logged.
	Logger *slog.Logger

	// Observer sees each operation. Nil: none does.
	Observer Observer

	// Metrics serves GET /metrics to readers. Nil: that is unsupported.
	Metrics http.Handler

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

	// AllowOperation counts one more operation against the rate of the context's
	// caller, or says how long to wait for the next: the operations of a batch
	// count like requests. Nil: auth.AllowOperation.
	AllowOperation func(context.Context) (wait time.Duration, ok bool)

	// Health is how leases are tried for /health/leasing. Its Name is __healthcheck__:server
	// by default.
	Health health.Options

	// LogLevel is read and changed with /v1/log-level. Nil: that is unsupported.
	LogLevel *slog.LevelVar

	// TempDir is where a backup is put together. Empty: os.TempDir().
	TempDir string

	// Version is shown by /openapi.json. Empty: "dev".
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
	if full.AllowOperation == nil {
		full.AllowOperation = auth.AllowOperation
	}
	full.StoreTimeout = cmp.Or(full.StoreTimeout, 5*time.Second)
	full.BodyTimeout = cmp.Or(full.BodyTimeout, 10*time.Second)
	full.WriteTimeout = cmp.Or(full.WriteTimeout, 10*time.Second)
	full.MaxBody = cmp.Or(full.MaxBody, 64<<10)
	full.MaxWaiters = cmp.Or(full.MaxWaiters, 10_000)
	full.MaxWaitersPerCaller = cmp.Or(full.MaxWaitersPerCaller, 1_000)
	full.MaxStreams = cmp.Or(full.MaxStreams, 1_000)
	full.MaxStreamsPerCaller = cmp.Or(full.MaxStreamsPerCaller, 32)
	full.MaxScans = cmp.Or(full.MaxScans, 16)
	full.MaxScansPerCaller = cmp.Or(full.MaxScansPerCaller, 4)
	full.Health = completeHealth(full.Health)
	full.Version = cmp.Or(full.Version, "dev")
	return full
}

// Server serves one store. Make it with New.
type Server struct {
	store     leasehold.Store
	o         Options
	endpoints []*endpoint
	router    rest.Router[*call]
	batchable map[string]*endpoint // by ID
	leasing   leasingCheck

	waiters, streams, scans *admission.Limit

	streamTurns *turns.Turns // shares the processors among streams
	parallel    atomic.Int64 // operations of batches that have a goroutine

	// draining ends when Drain is called.
	draining context.Context
	drain    context.CancelFunc

	// The documents are made at the first request for them: most servers get
	// none, and tests make many servers.
	openapi func() []byte
	page    func() []byte
}

// New returns a server in front of the store, which stays the caller's to
// close, after the last request.
func New(store leasehold.Store, o *Options) *Server {
	s := &Server{store: store, o: o.withDefaults(), batchable: map[string]*endpoint{}}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.waiters = admission.New(s.o.MaxWaiters, s.o.MaxWaitersPerCaller)
	s.streams = admission.New(s.o.MaxStreams, s.o.MaxStreamsPerCaller)
	s.scans = admission.New(s.o.MaxScans, s.o.MaxScansPerCaller)
	s.streamTurns = turns.New(streamShare, longestTurn)
	sections := table(s.o.MaxBody)
	for _, section := range sections {
		s.endpoints = append(s.endpoints, section.Endpoints...)
	}
	for _, e := range s.endpoints {
		e.Codes = withCommonCodes(e)
		if e.Batch {
			s.batchable[e.ID] = e
		}
	}
	s.router = rest.NewRouter(s.endpoints)
	s.openapi = sync.OnceValue(func() []byte { return rest.OpenAPI(s.endpoints, info(s.o.Version)) })
	s.page = sync.OnceValue(func() []byte { return rest.Page("Leasehold: JSON API", intro, sections, codes) })
	return s
}

// Handler returns the API without authentication: it believes the caller that
// the request's context carries (auth.From) and refuses everything but health
// and documentation where there is none.
func (s *Server) Handler() http.Handler { return http.HandlerFunc(s.serve) }

// Drain ends what would hold up a shutdown. Waiters are answered with
// store_unavailable and get no lease, event streams end, and /health/ready says
// no; other requests are served as before. Call it before http.Server.Shutdown.
func (s *Server) Drain() { s.drain() }

// errDraining is why a wait or a stream ended.
var errDraining = errors.New("the server is shutting down")

// untilDrained returns a context that also ends, with errDraining as its cause,
// when Drain is called.
func (s *Server) untilDrained(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.draining, func() { cancel(errDraining) })
	return ctx, func() { stop(); cancel(nil) }
}
