package open

import (
	"context"
	"slices"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/surreal"
)

var (
	surrealParams  = []string{"level", "password-file"}
	surrealsParams = slices.Concat(surrealParams, []string{"ca", "cert", "key"})
)

func openSurreal(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	options, err := u.surreal(o)
	if err != nil {
		return nil, err
	}
	store, err := surreal.Open(ctx, options)
	if err != nil {
		return nil, named(err)
	}
	return store, nil
}

// surreal reads where the server is, how to connect to it, and where in it leases are
// kept.
func (u storeURL) surreal(o Options) (*surreal.Options, error) {
	p, err := u.place()
	if err != nil {
		return nil, err
	}
	hosts, err := u.addrs(p, "8000")
	if err != nil {
		return nil, err
	}
	if len(hosts) > 1 {
		return nil, invalid("names %d hosts; want one", len(hosts))
	}
	options := &surreal.Options{Address: hosts[0], Level: surreal.Level(u.params.Get("level")), MustExist: o.MustExist, Timeout: callTimeout}
	switch len(p.path) {
	case 0:
	case 2:
		options.Namespace, options.Database = p.path[0], p.path[1]
	default:
		return nil, invalid("has a path that is no namespace and database; want %s", u.syntax)
	}
	switch options.Level {
	case "", surreal.LevelRoot, surreal.LevelNamespace, surreal.LevelDatabase:
	default:
		return nil, invalid("has the level %s; want root, namespace or database", u.shown("level"))
	}
	if options.Username, options.Password, err = u.login(p, o); err != nil {
		return nil, err
	}
	if u.scheme == "surreals" {
		options.TLS, err = u.alwaysTLS(o)
	}
	return options, err
}
