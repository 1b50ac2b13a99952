// Package server is the Azure Blob API: the REST protocol that the official Azure
// SDKs speak, in front of a catalog of containers and blobs whose leases are
// ordinary leases of this system.
//
// Every operation stands once, in the table of operations.go: its verb, the query
// and the header that select it, the permission it needs and its handler. A
// request takes one way (serve.go): address, operation, authorization, lease id
// and conditions, handler. Handlers (op_*.go) answer or return an error; one place
// (errors.go) answers errors. header_*.go reads and writes headers, xml_*.go
// bodies.
//
// There are two APIs. Handler is Azure's: it checks signatures, and its answers
// are Azure's to the letter. PlainHandler serves the same data to callers whom
// the main port has authenticated; api.go lists the few differences.
//
// Promises to callers:
//
//   - What the server cannot read exactly it refuses by name, and then nothing
//     happened.
//   - What it does not offer it answers with 501 NotImplemented: nothing pretends
//     to have been done.
//   - Keys, signatures and lease ids never stand in a log or in an error.
package server

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/leasehold/leasehold/azure/catalog"
	"github.com/leasehold/leasehold/azure/sign"
)

// Options of a Server. Nil and the zero value are the defaults.
type Options struct {
	// Accounts are those that the server has, with their keys. Default: the
	// development account that every SDK knows, whose key is no secret.
	Accounts []sign.Account

	// Hosts, unless there are none, are the only names that Handler answers to,
	// without a port: these, and an account's name before one of them, before
	// localhost or before Azure's own domain. They keep out web pages whose own
	// name resolves to this machine, which a signature does not where everybody
	// knows the key. Default: any name.
	Hosts []string

	// Closed, unless it is empty, is why Handler serves no account: it refuses
	// every request with this text. PlainHandler serves all the same.
	Closed string

	// Logger gets requests (Debug), lease operations (Info; renewals Debug) and
	// failures (Error), with the request's context. Default: none.
	Logger *slog.Logger

	// Observer is told of requests. Default: nobody is.
	Observer *Observer

	// StallTimeout is how long a request may go on without a byte sent or
	// received, and without an answer from the disk. Zero: 1 min.
	StallTimeout time.Duration

	// Version follows the name in the Server header. Default: none.
	Version string
}

// Server serves one catalog. Make it with New.
type Server struct {
	catalog  *catalog.Catalog
	hosts    []string // in lower case; none: any
	log      *slog.Logger
	observer Observer
	name     []string // the Server header
	accounts *sign.Accounts
	routes   routes
	settings sync.Mutex // held while service properties change

	closed       string // why Handler serves nobody
	stallTimeout time.Duration
}

// New returns a server of an open catalog, which the caller closes after the last
// request. It panics if sign.NewAccounts refuses the accounts.
func New(c *catalog.Catalog, o *Options) *Server {
	if o == nil {
		o = &Options{}
	}
	s := &Server{
		catalog: c, log: o.Logger, name: []string{"Leasehold"}, routes: newRoutes(operations),
		closed:       o.Closed,
		stallTimeout: cmp.Or(o.StallTimeout, stallTimeout),
	}
	if o.Observer != nil {
		s.observer = *o.Observer
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	for _, host := range o.Hosts {
		s.hosts = append(s.hosts, strings.Trim(strings.ToLower(host), "[]"))
	}
	if o.Version != "" {
		s.name[0] += "/" + o.Version
	}
	list := o.Accounts
	if list == nil {
		list = []sign.Account{sign.Development()}
	}
	accounts, err := sign.NewAccounts(list...)
	if err != nil {
		panic("blob: " + err.Error())
	}
	s.accounts = accounts
	return s
}

// Handler returns Azure's API: path style, product style where the first label of
// Host is an account, and -secondary of both. Every request has the signature of
// an account key or a shared access signature, unless a container is public.
//
// It goes by what the client sent (Request.RequestURI), which is what the client
// signed: handlers in front of it cannot give it another path.
func (s *Server) Handler() http.Handler { return &handler{s, azureAPI} }

// PlainHandler returns the API for the main port, below /blob/, without
// signatures: it trusts the caller in the request's context (auth.From), who
// reads as a reader and writes as a holder.
func (s *Server) PlainHandler() http.Handler { return &handler{s, plainAPI} }
