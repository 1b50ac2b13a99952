package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/health"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/leasehold/leasehold/server/internal/limit"
)

// Options adjusts a Server. The zero value of each field but Guard is its default.
type Options struct {
	// Guard knows who may look and act. It is required.
	Guard *auth.Guard

	// Logger gets what operators did (Info) and failures (Error). Nil: nothing is
	// logged.
	Logger *slog.Logger

	// Streams limits the streams of live updates. Nil: 1,000, and 32 of one caller.
	Streams *limit.Callers

	// StoreTimeout limits each call of the store. Zero: 5 s.
	StoreTimeout time.Duration

	// WriteTimeout is how long a browser may take to accept what is written to it,
	// each write to a stream on its own. Zero: 10 s.
	WriteTimeout time.Duration

	// Health is how leases are tried for the health page. Its Name is
	// __healthcheck__:console by default, and its Store the kind that pages name.
	Health health.Options

	// Version is shown. Empty: "dev".
	Version string
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Streams == nil {
		o.Streams = limit.New(1000, 32)
	}
	o.StoreTimeout = cmp.Or(o.StoreTimeout, 5*time.Second)
	o.WriteTimeout = cmp.Or(o.WriteTimeout, 10*time.Second)
	o.Health.Name = cmp.Or(o.Health.Name, leasehold.HealthPrefix+":console")
	o.Version = cmp.Or(o.Version, "dev")
	return o
}

// Server is the console of one store. Make it with New, and end it with Close.
type Server struct {
	store   leasehold.Store
	o       Options
	started time.Time
	formKey []byte // of the forms' secrets; a restart makes old forms useless

	refusals refusals
	waits    cached[waitTable]
	changes  waitChanges // of them
	noWaits  atomic.Bool // the store does not say who waits
	totals   totals
	first    cached[time.Time] // where the history begins
	checking sync.Mutex        // one health check at a time
	scans    *limit.Callers

	draining context.Context
	drain    context.CancelFunc
	running  sync.WaitGroup
}

// maxScans bounds the pages that read much of the history or of the table at the same
// time, so that visitors take no more than their share of the store.
const maxScans = 4

// New returns the console of the store, which stays the caller's to close.
func New(store leasehold.Store, o Options) *Server {
	s := &Server{store: store, o: o.withDefaults(), started: time.Now(), formKey: make([]byte, 32), scans: limit.New(maxScans, maxScans)}
	rand.Read(s.formKey) // never fails: it aborts the program instead
	s.draining, s.drain = context.WithCancel(context.Background())
	return s
}

// has reports whether the store has a power: its type must, and its kind, if that is
// known: the type of a wrapper has every power.
func (s *Server) has(byType bool, p powers.Power) bool {
	kind := s.o.Health.Store
	return byType && (!slices.Contains(powers.Kinds(), kind) || powers.Has(kind, p))
}

// watches reports whether the store reports changes as they happen.
func (s *Server) watches() bool {
	_, ok := s.store.(leasehold.Watcher)
	return s.has(ok, powers.Watching)
}

// Handler returns the console, behind the guard.
func (s *Server) Handler() http.Handler { return s.o.Guard.WrapConsole(http.HandlerFunc(s.serve)) }

// Serves reports whether a path, as it was sent, is the console's.
func Serves(path string) bool {
	return path == "/" || path == "/console" || len(path) >= len(auth.ConsolePath) && path[:len(auth.ConsolePath)] == auth.ConsolePath
}

// Drain ends the streams, which would hold up a shutdown.
func (s *Server) Drain() { s.drain() }

// Close ends what runs in the background, and waits for it.
func (s *Server) Close() error {
	s.drain()
	s.running.Wait()
	return nil
}
