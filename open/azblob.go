package open

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/azblob"
)

var azblobParams = slices.Concat([]string{"prefix", "create", "tls", "ca", "cert", "key", "key-file"}, identityParams)

// azblobStore is a store with its connections.
type azblobStore struct {
	*azblob.Store
	client *http.Client
}

func (s azblobStore) Close() error {
	defer s.client.CloseIdleConnections()
	return s.Store.Close()
}

func openAzblob(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	client, err := u.httpClient(o)
	if err != nil {
		return nil, err
	}
	options, err := u.azblob(o, client)
	if err != nil {
		return nil, err
	}
	store, err := azblob.Open(ctx, options)
	if err != nil {
		client.CloseIdleConnections()
		return nil, named(err)
	}
	return azblobStore{store, client}, nil
}

// azblob reads azblob://ACCOUNT/CONTAINER, azblob://HOST:PORT/ACCOUNT/CONTAINER, or,
// with a connection string, azblob:///CONTAINER.
func (u storeURL) azblob(o Options, client *http.Client) (*azblob.Options, error) {
	p, err := u.place()
	if err != nil {
		return nil, err
	}
	create, err := u.flag("create", true)
	if err != nil {
		return nil, err
	}
	options := &azblob.Options{
		Prefix: u.params.Get("prefix"), NoCreate: !create || o.MustExist,
		Client: &container.ClientOptions{ClientOptions: azcore.ClientOptions{Transport: client}},
	}
	a, err := u.azureAccess(o, client)
	if err != nil {
		return nil, err
	}
	if isConnectionString(a.secret) {
		options.ConnectionString = a.secret
		if len(p.path) > 1 {
			return nil, invalid("has a longer path than a container; want azblob:///CONTAINER")
		}
		options.Container = strings.Join(p.path, "")
		return options, u.noHost(p, "CONTAINER")
	}
	host, base, err := u.service(p, ".blob.core.windows.net")
	if err != nil {
		return nil, err
	}
	name := account(host)
	switch len(p.path) {
	case 0:
	case 1:
		options.Container = p.path[0]
	case 2: // where the host is shared by accounts, as an emulator's is
		name, options.Container = p.path[0], p.path[1]
		base += "/" + name
	default:
		return nil, invalid("has a longer path than an account and a container; want %s", u.syntax)
	}
	options.ServiceURL, options.Credential = base, a.credential
	if a.secret != "" {
		options.Account, options.Key = name, a.secret
	} else if strings.HasPrefix(base, "http:") {
		return nil, invalid("has tls=false, without which no token is sent; want a key, or TLS")
	}
	return options, nil
}

// isConnectionString tells a connection string from a key, which is base64.
func isConnectionString(secret string) bool { return strings.Contains(secret, ";") }

// noHost refuses a host where the connection string has it.
func (u storeURL) noHost(p place, path string) error {
	switch {
	case len(p.hosts) > 0 || p.user != "" || p.password != "":
		return invalid("names a host, and so does the connection string; want %s:///%s", u.scheme, path)
	case u.params.Has("tls"):
		return invalid("has tls, which the connection string says; leave it out")
	}
	return nil
}
