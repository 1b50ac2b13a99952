package open

import (
	"context"
	"slices"
	"strings"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/etcd"
)

var (
	etcdParams  = []string{"password-file"}
	etcdsParams = slices.Concat(etcdParams, []string{"ca", "cert", "key"})
)

func openEtcd(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	options, err := u.etcd(o)
	if err != nil {
		return nil, err
	}
	store, err := etcd.Open(ctx, options)
	if err != nil {
		return nil, named(err)
	}
	return store, nil
}

// etcd reads where the cluster is, how to connect to it, and below which prefix
// leases are kept.
func (u storeURL) etcd(o Options) (*etcd.Options, error) {
	p, err := u.place()
	if err != nil {
		return nil, err
	}
	options := &etcd.Options{Timeout: callTimeout}
	if options.Endpoints, err = u.addrs(p, "2379"); err != nil {
		return nil, err
	}
	if len(p.path) > 0 {
		options.Prefix = strings.Join(p.path, "/") + "/"
	}
	if options.Username, options.Password, err = u.login(p, o); err != nil {
		return nil, err
	}
	if u.scheme == "etcds" {
		options.TLS, err = u.alwaysTLS(o)
	}
	return options, err
}
