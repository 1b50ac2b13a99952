// Package open turns a URL into a store. It is the only package that imports
// every store; a program that needs one alone imports that one and stays small.
//
//	sqlite:FILE                    one file, durable, one process (also sqlite:///FILE)
//	sqlite:FILE?durability=normal  the same, surviving kill -9 but not power loss
//	memory:                        gone when it closes
//	http://HOST:PORT               a Leasehold server
//	https://HOST?ca=FILE           the same over TLS, with a certificate authority of its own
//	redis://HOST:PORT/DB           Redis, a Cluster (HOST,HOST or cluster=true), Sentinels (master=NAME)
//	rediss://USER@HOST?auth=…      the same over TLS, here with tokens of Microsoft Entra ID
//	azblob://ACCOUNT/CONTAINER     Azure Blob Storage's own leases
//	cosmos://ACCOUNT/DATABASE/CONTAINER  Azure Cosmos DB for NoSQL
//
// docs/choosing-a-store.md has all parameters.
package open

import (
	"context"
	"crypto/tls"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/store/local"
)

// Options are what a URL cannot or should not say. Nil is fine. A store ignores the
// options of others.
type Options struct {
	// Token is shown to a server. Default none. It has no place in a URL,
	// which logs and histories keep.
	Token string

	// TLS is for https. The URL's ca, cert and key are added to it. Default: the
	// system's certificate authorities.
	TLS *tls.Config

	// Secret is a networked store's password, account key or connection string.
	// Default: what the URL says. It has no place in a URL either.
	Secret string

	// Credential is an Azure identity. Default: what the URL says.
	Credential azcore.TokenCredential

	// Modules keep tables of their own in an embedded database. Default none.
	Modules []engine.Module

	// MustExist refuses to make a missing database file, container or database.
	// Default: it is made.
	MustExist bool

	// Reach is the address that others are given when they find the embedded
	// database in use. Default: only the process id and the host.
	Reach string

	// Reserve is how many bytes of disk an embedded database keeps back for when
	// the disk is full. Default none.
	Reserve int64

	// Trace returns the W3C trace context that a server gets with each call.
	// Default: none.
	Trace func(context.Context) (traceparent, tracestate string)

	// Logger logs what a store does by itself. Default: none.
	Logger *slog.Logger

	// Observer is told of the commits of an embedded store. Default: nobody is.
	Observer *local.Observer
}

// driver is one kind of store.
type driver struct {
	kind   string   // in package powers
	syntax string   // for messages
	params []string // the URL's parameters
	open   func(ctx context.Context, u storeURL, o Options) (leasehold.Store, error)
}

// storeURL is a parsed URL.
type storeURL struct {
	scheme string
	syntax string // of its driver
	rest   string // between the scheme's colon and the question mark, as written
	params url.Values
}

var drivers = map[string]driver{
	"sqlite": {kind: powers.KindSQLite, syntax: "sqlite:FILE", params: []string{"durability"}, open: openSQLite},
	"memory": {kind: powers.KindMemory, syntax: "memory:", open: openMemory},
	"http":   {kind: powers.KindServer, syntax: "http://HOST:PORT", open: openServer},
	"redis":  {kind: powers.KindRedis, syntax: "redis://HOST:PORT", params: redisParams, open: openRedis},
	"rediss": {kind: powers.KindRedis, syntax: "rediss://HOST:PORT", params: redissParams, open: openRedis},
	"azblob": {kind: powers.KindAzblob, syntax: "azblob://ACCOUNT/CONTAINER", params: azblobParams, open: openAzblob},
	"cosmos": {kind: powers.KindCosmos, syntax: "cosmos://ACCOUNT/DATABASE/CONTAINER", params: cosmosParams, open: openCosmos},
	"https":  {kind: powers.KindServer, syntax: "https://HOST:PORT", params: []string{"ca", "cert", "key"}, open: openServer},
}

// Store opens the store at the URL. A wrong URL is ErrInvalid, with what would be
// right; the error never repeats the whole URL, since people put secrets there.
func Store(ctx context.Context, rawURL string, o *Options) (leasehold.Store, error) {
	if o == nil {
		o = &Options{}
	}
	u, d, err := parse(rawURL)
	if err != nil {
		return nil, err
	}
	return d.open(ctx, u, *o)
}

// Scheme returns what stands before the URL's first colon, or "".
func Scheme(rawURL string) string {
	scheme, _, ok := strings.Cut(rawURL, ":")
	if !ok {
		return ""
	}
	return strings.ToLower(scheme)
}

// Kind returns the kind of the store at the URL, as its errors name it, or "".
func Kind(rawURL string) string {
	if kind := drivers[Scheme(rawURL)].kind; kind != powers.KindServer {
		return kind
	}
	return "remote"
}

// Lacks returns those of the powers that the store at the URL does not have, in the
// words of docs/choosing-a-store.md. Of a wrong URL it knows nothing.
func Lacks(rawURL string, all ...string) []string {
	d, ok := drivers[Scheme(rawURL)]
	if !ok {
		return nil
	}
	return slices.DeleteFunc(all, func(p string) bool { return powers.Has(d.kind, p) })
}

func parse(rawURL string) (storeURL, driver, error) {
	u := storeURL{scheme: Scheme(rawURL)}
	d, ok := drivers[u.scheme]
	if !ok {
		return u, d, unknownScheme(u.scheme)
	}
	u.syntax = d.syntax
	rest, query, _ := strings.Cut(rawURL[len(u.scheme)+1:], "?")
	u.rest = rest
	var err error
	if u.params, err = url.ParseQuery(query); err != nil {
		return u, d, invalid("has parameters that cannot be read; want ?name=value&name=value")
	}
	return u, d, d.validate(u)
}

func unknownScheme(scheme string) error {
	known := make([]string, 0, len(drivers))
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		known = append(known, drivers[name].syntax)
	}
	if scheme == "" {
		return invalid("has no scheme; want one of %s", strings.Join(known, ", "))
	}
	return invalid("has the unknown scheme %.32q; want one of %s", scheme, strings.Join(known, ", "))
}

// validate refuses unknown parameters: a misspelt one must not mean its default.
func (d driver) validate(u storeURL) error {
	for _, name := range slices.Sorted(maps.Keys(u.params)) {
		switch {
		case !isWord(name): // a password with a stray question mark gets here too
			return invalid("has a parameter that is none of its own; %s takes %s", d.syntax, strings.Join(d.params, ", "))
		case len(d.params) == 0:
			return invalid("has the parameter %.32q; %s takes none", name, d.syntax)
		case !slices.Contains(d.params, name):
			return invalid("has the unknown parameter %.32q; %s takes %s", name, d.syntax, strings.Join(d.params, ", "))
		case len(u.params[name]) > 1:
			return invalid("has the parameter %q more than once", name)
		}
	}
	return nil
}

func isWord(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-_") == ""
}

func invalid(problem string, args ...any) error {
	err := leasehold.Invalid("store URL", problem, args...)
	err.Op = "open"
	return err
}
