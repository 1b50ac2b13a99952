// Package blob is the Azure Blob door: the REST protocol that the official
// Azure SDKs speak, in front of a catalog of containers and blobs whose leases
// are ordinary leases of this system.
//
// Every operation stands once, in a table (table.go and the tables it joins):
// its verb, the query that selects it, the permission it needs and its handler.
// Handlers return an error or have answered; one place (serve.go) lets requests
// in and logs, one (refuse.go) writes errors.
//
// The door has two faces. Handler is Azure's: signatures are checked, answers
// are Azure's to the letter. Dialect serves the same data to whoever the main
// port has let in, with the few answers that differ listed in dialect.go.
//
// The door promises to its callers:
//
//   - What it cannot read exactly it refuses by name, and then nothing happened.
//   - What it does not offer it says so, with 501 NotImplemented: nothing
//     pretends to have been done.
//   - Keys, signatures and lease ids are never logged and never told.
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
	// Accounts are those that the door serves, with their keys. Default: the
	// development account that every SDK knows, whose key is no secret.
	Accounts []sign.Account

	// Hosts, unless there are none, are the only names that Azure's face answers
	// to, without a port: these, and an account's name before one of them, before
	// localhost or before Azure's own domain. They keep out web pages whose own
	// name was made to lead to this machine, which a signature does not where
	// everybody knows the key. Default: any name.
	Hosts []string

	// Closed, unless it is empty, is why Azure's face serves no account: every
	// request there is refused with this text. The dialect is served all the same.
	Closed string

	// Logger hears of requests (Debug) and of failures (Error). Default: nobody
	// does.
	Logger *slog.Logger

	// StallTimeout is how long a request may go on without a byte sent or taken,
	// and without an answer from the disk. Zero: 1 min.
	StallTimeout time.Duration

	// Version is what the Server header tells beside the name. Default: nothing.
	Version string
}

// Server serves one catalog. Make it with New.
type Server struct {
	catalog  *catalog.Catalog
	hosts    []string // in lower case; none: any
	log      *slog.Logger
	name     []string // the Server header
	accounts *sign.Accounts
	routes   routes
	settings sync.Mutex // held by whoever changes service properties

	closed       string // why Azure's face serves nobody
	stallTimeout time.Duration
}

// New builds the door. The catalog is open; the caller closes it after the last
// request. It panics if the accounts are none that sign.NewAccounts takes.
func New(c *catalog.Catalog, o *Options) *Server {
	if o == nil {
		o = &Options{}
	}
	s := &Server{
		catalog: c, log: o.Logger, name: []string{"Leasehold"}, routes: newRoutes(operations()),
		closed:       o.Closed,
		stallTimeout: cmp.Or(o.StallTimeout, stallTimeout),
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

// Handler returns Azure's face: path style, product style where the first label
// of Host is an account, and -secondary of both. Every request shows an account
// key's signature or a shared access signature, unless a container is public.
//
// It goes by what the client sent (Request.RequestURI), which is what the client
// signed: handlers in front of it cannot give it another path.
func (s *Server) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, azure) })
}

// Dialect returns the face for the main port, below /blob/, without signatures:
// it believes the caller that the request's context carries (auth.From), who
// reads as a reader and writes as a holder.
func (s *Server) Dialect() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, localZure) })
}
