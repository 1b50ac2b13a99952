// Package open turns a URL into a store. It is the only package that imports
// every store; a program that needs one alone imports that one and stays small.
//
//	sqlite:FILE                    one file, durable, one process (also sqlite:///FILE)
//	sqlite:FILE?durability=normal  the same, surviving kill -9 but not power loss
//	memory:                        gone when it closes
//	http://HOST:PORT               a Leasehold server
//	https://HOST?ca=FILE           the same over TLS, with a certificate authority of its own
//	sqlite:FILE?mode=shared        the same file, several processes of one machine
//	postgres://USER@HOST/DATABASE  PostgreSQL
//	etcd://HOST:PORT,HOST/PREFIX   etcd; etcds:// with TLS
//	surreal://HOST:PORT/NAMESPACE/DATABASE  SurrealDB; surreals:// with TLS
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

	// BlobsOnly opens an embedded database even if its leases were moved to another
	// store. Default: that is an error.
	BlobsOnly bool

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
	query  string // after the question mark, as written
	params url.Values
}

var drivers = map[string]driver{
	"sqlite":     {kind: powers.KindSQLite, syntax: "sqlite:FILE", params: []string{"durability", "mode"}, open: openSQLite},
	"memory":     {kind: powers.KindMemory, syntax: "memory:", open: openMemory},
	"http":       {kind: powers.KindServer, syntax: "http://HOST:PORT", open: openServer},
	"redis":      {kind: powers.KindRedis, syntax: "redis://HOST:PORT", params: redisParams, open: openRedis},
	"rediss":     {kind: powers.KindRedis, syntax: "rediss://HOST:PORT", params: redissParams, open: openRedis},
	"postgres":   {kind: powers.KindPostgres, syntax: "postgres://HOST:PORT/DATABASE", params: postgresParams, open: openPostgres},
	"postgresql": {kind: powers.KindPostgres, syntax: "postgres://HOST:PORT/DATABASE", params: postgresParams, open: openPostgres},
	"etcd":       {kind: powers.KindEtcd, syntax: "etcd://HOST:PORT/PREFIX", params: etcdParams, open: openEtcd},
	"etcds":      {kind: powers.KindEtcd, syntax: "etcds://HOST:PORT/PREFIX", params: etcdsParams, open: openEtcd},
	"surreal":    {kind: powers.KindSurreal, syntax: "surreal://HOST:PORT/NAMESPACE/DATABASE", params: surrealParams, open: openSurreal},
	"surreals":   {kind: powers.KindSurreal, syntax: "surreals://HOST:PORT/NAMESPACE/DATABASE", params: surrealsParams, open: openSurreal},
	"azblob":     {kind: powers.KindAzblob, syntax: "azblob://ACCOUNT/CONTAINER", params: azblobParams, open: openAzblob},
	"cosmos":     {kind: powers.KindCosmos, syntax: "cosmos://ACCOUNT/DATABASE/CONTAINER", params: cosmosParams, open: openCosmos},
	"https":      {kind: powers.KindServer, syntax: "https://HOST:PORT", params: []string{"ca", "cert", "key"}, open: openServer},
}

// withPassword are the kinds in whose URL a password may stand.
var withPassword = []string{powers.KindRedis, powers.KindPostgres, powers.KindEtcd, powers.KindSurreal}

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

// Shared reports whether several processes can have the store at the URL open at a
// time.
func Shared(rawURL string) bool {
	return !slices.Contains([]string{"", powers.KindSQLite, powers.KindMemory}, powersOf(rawURL))
}

// powersOf returns the kind of the store at the URL in package powers, or "".
func powersOf(rawURL string) string {
	d := drivers[Scheme(rawURL)]
	_, query, _ := strings.Cut(rawURL, "?")
	if params, err := url.ParseQuery(query); err == nil && d.kind == powers.KindSQLite && params.Get("mode") == "shared" {
		return powers.KindSQLiteShared
	}
	return d.kind
}

// Lacks returns those of the powers that the store at the URL does not have, in the
// words of docs/choosing-a-store.md. Of a wrong URL it knows nothing.
func Lacks(rawURL string, all ...string) []string {
	kind := powersOf(rawURL)
	if kind == "" {
		return nil
	}
	return slices.DeleteFunc(all, func(p string) bool { return powers.Has(kind, p) })
}

func parse(rawURL string) (storeURL, driver, error) {
	u := storeURL{scheme: Scheme(rawURL)}
	d, ok := drivers[u.scheme]
	if !ok {
		return u, d, unknownScheme(u.scheme)
	}
	u.syntax = d.syntax
	rest, query, _ := strings.Cut(rawURL[len(u.scheme)+1:], "?")
	u.rest, u.query = rest, query
	if slices.Contains(withPassword, d.kind) && strings.Contains(query, "@") && !strings.Contains(rest, "@") {
		return u, d, invalid("has a question mark in the user or password, or an @ in the parameters; write %%3F and %%40")
	}
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
	known = slices.Compact(known)
	if !isScheme(scheme) { // it may be anything, also a connection string
		return invalid("has no scheme; want one of %s", strings.Join(known, ", "))
	}
	return invalid("has the unknown scheme %q; want one of %s", scheme, strings.Join(known, ", "))
}

// validate refuses unknown parameters: a misspelt one must not mean its default.
// It repeats the name of one only where that cannot be part of a password.
func (d driver) validate(u storeURL) error {
	for _, name := range slices.Sorted(maps.Keys(u.params)) {
		switch {
		case !isWord(name), strings.Contains(u.query, "@") && !slices.Contains(d.params, name): // a password with a stray question mark gets here too
			return invalid("has a parameter that is none of its own; %s takes %s", d.syntax, strings.Join(d.params, ", "))
		case len(d.params) == 0:
			return invalid("has the parameter %.32q; %s takes none", name, d.syntax)
		case !slices.Contains(d.params, name):
			return invalid("has the unknown parameter %.32q; %s takes %s", name, d.syntax, strings.Join(d.params, ", "))
		case len(u.params[name]) > 1:
			return invalid("has the parameter %q more than once", name)
		case u.params.Get(name) == "": // what guards must not be switched off by a variable that is not set
			return invalid("has the parameter %q without a value; leave it out for its default", name)
		}
	}
	return nil
}

func isScheme(name string) bool {
	return name != "" && len(name) <= 16 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz+.-") == ""
}

func isWord(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz-_") == ""
}

func invalid(problem string, args ...any) error {
	err := leasehold.Invalid("store URL", problem, args...)
	err.Op = "open"
	return err
}
