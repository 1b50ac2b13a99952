package cosmos

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/cas"
)

// Options says where the leases are and how to get there. Nil is fine for New.
type Options struct {
	// Database and Container have the documents. Default "leasehold" and
	// "leases".
	Database, Container string

	// NoCreate makes a missing database or container an error. By default they
	// are created, which an Entra ID token may not do: there they have to be
	// there already.
	NoCreate bool

	// Throughput is the RU/s of a container that is created. Zero: what the
	// account gives, as a serverless account or a database with throughput of
	// its own does.
	Throughput int32

	// Partition says which leases share a logical partition. It must be the same
	// for all programs that use the container. Default ByResource.
	Partition Partition

	// DefaultTTL is for requests that leave the ttl out. Default 5 min.
	DefaultTTL time.Duration

	// Timeout ends an operation with all its retries; waiting is not counted.
	// Default 4 s.
	Timeout time.Duration

	// How Open gets in. Give a ConnectionString alone, or Endpoint with either
	// Key or Credential. To give more than one is an error.

	// ConnectionString is one of an account: AccountEndpoint=…;AccountKey=…;
	ConnectionString string

	// Endpoint is the account's, such as https://ACCOUNT.documents.azure.com.
	// Plain http is taken only for loopback.
	Endpoint string

	// Key is one of the account's keys.
	Key string

	// Credential gets Entra ID tokens.
	Credential azcore.TokenCredential

	// Client is for the client that Open makes: its transport, its logging, its
	// regions. Its retries are not used. Default: a transport of its own.
	Client *azcosmos.ClientOptions
}

const defaultTimeout = 4 * time.Second

// names are what Cosmos takes as the id of a database or container. Every program with
// this package would pay for compiling it at its start.
var names = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^/\\?#\s]{1,255}$`) })

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Database == "" {
		full.Database = "leasehold"
	}
	if full.Container == "" {
		full.Container = "leases"
	}
	if full.Partition == "" {
		full.Partition = ByResource
	}
	if full.Timeout == 0 {
		full.Timeout = defaultTimeout
	}
	return full, full.check()
}

func (o *Options) check() error {
	switch {
	case !names().MatchString(o.Database):
		return leasehold.Invalid("database", "is %.64q; want 1 to 255 characters without / \\ ? # and spaces", o.Database)
	case !names().MatchString(o.Container):
		return leasehold.Invalid("container", "is %.64q; want 1 to 255 characters without / \\ ? # and spaces", o.Container)
	case !o.Partition.valid():
		return leasehold.Invalid("partition", "is %.64q; want resource, tenant or region", string(o.Partition))
	case o.Throughput != 0 && o.Throughput < 400:
		return leasehold.Invalid("throughput", "is %d; want at least 400 RU/s", o.Throughput)
	case o.DefaultTTL != 0 && o.DefaultTTL != leasehold.Infinite && o.DefaultTTL < leasehold.MinTTL || o.DefaultTTL > leasehold.MaxTTL:
		return leasehold.Invalid("default_ttl", "is %v; want %v to %v", o.DefaultTTL, leasehold.MinTTL, leasehold.MaxTTL)
	case o.Timeout < 0:
		return leasehold.Invalid("timeout", "is %v; want more than nothing", o.Timeout)
	}
	return nil
}

// New makes a store on a client that stays its owner's: Close does not close it.
// It finds out whether the container is there. An account with several write
// regions cannot be told from others by its client: do not use one.
func New(ctx context.Context, client *azcosmos.Client, o *Options) (*cas.Store, error) {
	full, err := o.withDefaults()
	if err != nil {
		return nil, openError(err)
	}
	if client == nil {
		return nil, openError(leasehold.Invalid("client", "is nil; want an account's client"))
	}
	return newStore(ctx, client, full, &account{}, func() {})
}

// Open makes a client and a store, and finds out whether the account can be
// reached, has one write region, and has the container.
func Open(ctx context.Context, o *Options) (*cas.Store, error) {
	full, err := o.withDefaults()
	if err != nil {
		return nil, openError(err)
	}
	seen := &account{}
	client, closeClient, err := full.client(seen)
	if err != nil {
		return nil, openError(err)
	}
	return newStore(ctx, client, full, seen, closeClient)
}

// client makes the client, and the function that closes it.
func (o *Options) client(seen *account) (*azcosmos.Client, func(), error) {
	endpoint, key, err := o.credentials()
	if err != nil {
		return nil, nil, err
	}
	if err := checkEndpoint(endpoint); err != nil {
		return nil, nil, err
	}
	options, idle := o.clientOptions(seen)
	if u, err := url.Parse(endpoint); err == nil && isLoopback(u.Hostname()) {
		options.PerCallPolicies = append(options.PerCallPolicies, emulator{})
	}
	var client *azcosmos.Client
	if o.Credential != nil {
		client, err = azcosmos.NewClient(endpoint, tokens{o.Credential}, options)
	} else {
		var cred azcosmos.KeyCredential
		if cred, err = azcosmos.NewKeyCredential(key); err == nil {
			client, err = azcosmos.NewClientWithKey(endpoint, cred, options)
		}
	}
	if err != nil { // its text may repeat the secret
		return nil, nil, leasehold.Invalid("credentials", "cannot be read; want an account's key in base64 as the portal shows it")
	}
	return client, func() { client.Close(); idle() }, nil
}

// credentials returns the endpoint and the key, if one is given.
func (o *Options) credentials() (endpoint, key string, err error) {
	given := 0
	for _, is := range []bool{o.ConnectionString != "", o.Key != "", o.Credential != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return "", "", leasehold.Invalid("credentials", "are %d; want one of a connection string, a key and a credential", given)
	case o.ConnectionString != "" && o.Endpoint != "":
		return "", "", leasehold.Invalid("endpoint", "is given, and so is a connection string, which has one")
	case o.ConnectionString != "":
		return parseConnection(o.ConnectionString)
	}
	return o.Endpoint, o.Key, nil
}

// parseConnection reads AccountEndpoint=…;AccountKey=…; in any order. Errors do
// not repeat it.
func parseConnection(s string) (endpoint, key string, err error) {
	for part := range strings.SplitSeq(s, ";") {
		name, value, ok := strings.Cut(part, "=")
		switch {
		case strings.TrimSpace(part) == "":
		case ok && strings.EqualFold(name, "AccountEndpoint"):
			endpoint = value
		case ok && strings.EqualFold(name, "AccountKey"):
			key = value
		default:
			return "", "", leasehold.Invalid("connection_string", "has a part that is neither AccountEndpoint=… nor AccountKey=…")
		}
	}
	if endpoint == "" || key == "" {
		return "", "", leasehold.Invalid("connection_string", "is incomplete; want AccountEndpoint=…;AccountKey=…;")
	}
	return endpoint, key, nil
}

// checkEndpoint refuses what would send tokens over the network in the clear.
func checkEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "":
		return leasehold.Invalid("endpoint", "is not an account's; want https://ACCOUNT.documents.azure.com")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return leasehold.Invalid("endpoint", "has the scheme %q; want https", u.Scheme)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// clientOptions are those of a client that never repeats a request by itself.
func (o *Options) clientOptions(seen *account) (*azcosmos.ClientOptions, func()) {
	var options azcosmos.ClientOptions
	if o.Client != nil {
		options = *o.Client
	}
	options.Retry = policy.RetryOptions{MaxRetries: -1}
	options.PerCallPolicies = append([]policy.Policy{seen}, options.PerCallPolicies...)
	if options.Transport != nil {
		return &options, func() {}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	// The SDK asks for the account's regions without its caller's deadline.
	options.Transport = &http.Client{Transport: transport, Timeout: o.Timeout}
	return &options, transport.CloseIdleConnections
}

// tokens marks the errors of a credential: the request was not sent.
type tokens struct{ azcore.TokenCredential }

func (t tokens) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := t.TokenCredential.GetToken(ctx, o)
	if err != nil {
		return token, &credentialError{err}
	}
	return token, nil
}
