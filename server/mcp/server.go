package mcp

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/server/internal/limit"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Options adjusts a Server. Nil and the zero value are the defaults.
type Options struct {
	// Logger gets what became of leases (Info) and failures (Error), never a lease
	// id. Nil: nothing is logged.
	Logger *slog.Logger

	// Version is what the server says of itself. Empty: "dev".
	Version string

	// TTL is that of leases whose request has none. Zero: the store's default.
	TTL time.Duration

	// MaxWait ends each wait, which keeps its place. Zero: 50 s, because many clients
	// give up on a call after a minute.
	MaxWait time.Duration

	// StoreTimeout limits each operation of the store, waiting not counted. Zero: 5 s.
	StoreTimeout time.Duration

	// MaxBody is the limit of a request's body over HTTP, in bytes. Zero: 256 KiB.
	MaxBody int64

	// MaxWaiters limits the calls that wait. Zero: 10,000.
	MaxWaiters int
	// MaxWaitersPerCaller limits those of one token. Zero: 1,000.
	MaxWaitersPerCaller int
}

func (o *Options) withDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	full.Version = cmp.Or(full.Version, "dev")
	full.MaxWait = cmp.Or(full.MaxWait, 50*time.Second)
	full.StoreTimeout = cmp.Or(full.StoreTimeout, 5*time.Second)
	full.MaxBody = cmp.Or(full.MaxBody, 256<<10)
	full.MaxWaiters = cmp.Or(full.MaxWaiters, 10_000)
	full.MaxWaitersPerCaller = cmp.Or(full.MaxWaitersPerCaller, 1_000)
	return full
}

// Server offers the leases of one store as tools. Make it with New.
type Server struct {
	store    leasehold.Store
	o        Options
	protocol *sdk.Server
	waiters  *limit.Callers
	scans    *limit.Callers // of the history

	// draining ends when Drain is called.
	draining context.Context
	drain    context.CancelFunc
}

// New returns a server in front of the store, which stays the caller's to close,
// after the last call.
func New(store leasehold.Store, o *Options) *Server {
	s := &Server{store: store, o: o.withDefaults()}
	s.draining, s.drain = context.WithCancel(context.Background())
	s.waiters = limit.New(s.o.MaxWaiters, s.o.MaxWaitersPerCaller)
	s.scans = limit.New(maxScans, maxScansPerCaller)
	s.protocol = sdk.NewServer(
		&sdk.Implementation{Name: "leasehold", Title: "Leasehold", Version: s.o.Version},
		&sdk.ServerOptions{
			Instructions: instructions, SchemaCache: resolved,
			// The tools never change while a server runs.
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		})
	s.addTools()
	return s
}

// How many calls read the history at the same time, in all and of one token.
const (
	maxScans          = 16
	maxScansPerCaller = 4
)

// Drain ends the waits, which would hold up a shutdown. Other calls are served as
// before. Call it before http.Server.Shutdown.
func (s *Server) Drain() { s.drain() }

// errDraining is why a wait ended.
var errDraining = errors.New("the server is shutting down")
