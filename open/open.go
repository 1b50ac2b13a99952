// Package open turns a URL into a store. It is the only package that imports
// every store; a program that needs one alone imports that one and stays small.
//
//	sqlite:FILE                    one file, durable, one process (also sqlite:///FILE)
//	sqlite:FILE?durability=normal  the same, surviving kill -9 but not power loss
//	memory:                        gone when it closes
//	http://HOST:PORT               a Leasehold server
//	https://HOST?ca=FILE           the same over TLS, with a certificate authority of its own
package open

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/engine"
)

// Options are what a URL cannot or should not say. Nil is fine. A store takes
// what concerns it and leaves the rest.
type Options struct {
	// Token is shown to a server. Default none. It has no place in a URL,
	// which logs and histories keep.
	Token string

	// TLS is for https. The URL's ca, cert and key come on top. Default: the
	// system's certificate authorities.
	TLS *tls.Config

	// Modules keep tables of their own in an embedded database. Default none.
	Modules []engine.Module

	// MustExist refuses to make a database file that is not there, for whoever
	// only wants to look. Default: it is made.
	MustExist bool

	// Reach tells whoever finds an embedded database in use where its owner
	// answers. Default: only the process id and the host are told.
	Reach string

	// Reserve is how many bytes of disk an embedded database keeps back for when
	// the disk is full. Default none.
	Reserve int64

	// Logger hears of what a store does by itself. Default: nobody does.
	Logger *slog.Logger
}

// driver is one kind of store.
type driver struct {
	form   string   // for messages
	params []string // the URL's parameters that it knows
	open   func(ctx context.Context, t target, o Options) (leasehold.Store, error)
}

// target is a URL taken apart.
type target struct {
	scheme string
	rest   string // between the scheme's colon and the question mark, as written
	params url.Values
}

var drivers = map[string]driver{
	"sqlite": {form: "sqlite:FILE", params: []string{"durability"}, open: openSQLite},
	"memory": {form: "memory:", open: openMemory},
	"http":   {form: "http://HOST:PORT", open: openServer},
	"https":  {form: "https://HOST:PORT", params: []string{"ca", "cert", "key"}, open: openServer},
}

// Store opens the store at the URL. What is wrong with the URL itself is
// ErrInvalid and says what would be right; it never repeats the whole URL,
// since people put secrets there.
func Store(ctx context.Context, storeURL string, o *Options) (leasehold.Store, error) {
	if o == nil {
		o = &Options{}
	}
	t, d, err := parse(storeURL)
	if err != nil {
		return nil, err
	}
	return d.open(ctx, t, *o)
}

// Scheme returns what stands before the URL's first colon, or "".
func Scheme(storeURL string) string {
	scheme, _, ok := strings.Cut(storeURL, ":")
	if !ok {
		return ""
	}
	return strings.ToLower(scheme)
}

func parse(storeURL string) (target, driver, error) {
	t := target{scheme: Scheme(storeURL)}
	d, ok := drivers[t.scheme]
	if !ok {
		return t, d, unknownScheme(t.scheme)
	}
	rest := storeURL[len(t.scheme)+1:]
	rest, query, _ := strings.Cut(rest, "?")
	t.rest = rest
	var err error
	if t.params, err = url.ParseQuery(query); err != nil {
		return t, d, invalid("has parameters that cannot be read; want ?name=value&name=value")
	}
	return t, d, d.check(t)
}

func unknownScheme(scheme string) error {
	forms := make([]string, 0, len(drivers))
	for _, name := range slices.Sorted(maps.Keys(drivers)) {
		forms = append(forms, drivers[name].form)
	}
	known := strings.Join(forms, ", ")
	if scheme == "" {
		return invalid("has no scheme; want one of %s", known)
	}
	return invalid("has the unknown scheme %.32q; want one of %s", scheme, known)
}

// check refuses parameters that the driver does not know: one that is misspelt
// must not pass for its default.
func (d driver) check(t target) error {
	for _, name := range slices.Sorted(maps.Keys(t.params)) {
		switch {
		case len(d.params) == 0:
			return invalid("has the parameter %.32q; %s takes none", name, d.form)
		case !slices.Contains(d.params, name):
			return invalid("has the unknown parameter %.32q; %s takes %s", name, d.form, strings.Join(d.params, ", "))
		case len(t.params[name]) > 1:
			return invalid("has the parameter %q more than once", name)
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &leasehold.Error{Reason: leasehold.ReasonInvalid, Op: "open", Field: "store URL", Problem: fmt.Sprintf(format, args...)}
}
