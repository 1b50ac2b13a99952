package open

import (
	"context"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
	"github.com/leasehold/leasehold/store/cosmos"
)

var cosmosParams = slices.Concat([]string{"partition", "throughput", "create", "tls", "ca", "cert", "key", "key-file"}, identityParams)

// cosmosStore is a store with its connections.
type cosmosStore struct {
	*cas.Store
	client *http.Client
}

func (s cosmosStore) Close() error {
	defer s.client.CloseIdleConnections()
	return s.Store.Close()
}

func openCosmos(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	client, err := u.httpClient(o)
	if err != nil {
		return nil, err
	}
	options, err := u.cosmos(o, client)
	if err != nil {
		return nil, err
	}
	store, err := cosmos.Open(ctx, options)
	if err != nil {
		client.CloseIdleConnections()
		return nil, named(err)
	}
	return cosmosStore{store, client}, nil
}

// cosmos reads cosmos://ACCOUNT/DATABASE/CONTAINER, or, with a connection string,
// cosmos:///DATABASE/CONTAINER.
func (u storeURL) cosmos(o Options, client *http.Client) (*cosmos.Options, error) {
	p, err := u.place()
	if err != nil {
		return nil, err
	}
	create, err := u.flag("create", true)
	if err != nil {
		return nil, err
	}
	throughput, err := u.number("throughput")
	if err != nil {
		return nil, err
	}
	options := &cosmos.Options{
		NoCreate: !create || o.MustExist, Throughput: int32(min(throughput, math.MaxInt32)), Partition: cosmos.Partition(u.params.Get("partition")),
		Client: &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: client}},
	}
	switch len(p.path) {
	case 2:
		options.Container = p.path[1]
		fallthrough
	case 1:
		options.Database = p.path[0]
	case 0:
	default:
		return nil, invalid("has a longer path than a database and a container; want %s", u.syntax)
	}
	a, err := u.azureAccess(o, client)
	if err != nil {
		return nil, err
	}
	if isConnectionString(a.secret) {
		options.ConnectionString = a.secret
		return options, u.noHost(p, "DATABASE/CONTAINER")
	}
	if _, options.Endpoint, err = u.service(p, ".documents.azure.com"); err != nil {
		return nil, err
	}
	options.Key, options.Credential = a.secret, a.credential
	if a.credential != nil && strings.HasPrefix(options.Endpoint, "http:") {
		return nil, invalid("has tls=false, without which no token is sent; want a key, or TLS")
	}
	return options, nil
}
