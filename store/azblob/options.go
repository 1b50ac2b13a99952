package azblob

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/leasehold/leasehold"
)

// Options says where the leases are and how to get there. Nil is fine for New.
type Options struct {
	// Container has the blobs. Default "leases". New takes it from the client.
	Container string

	// Prefix begins the names of the blobs: up to 118 of A-Z a-z 0-9 _ . - /.
	// Default "lease-".
	Prefix string

	// NoCreate makes a missing container an error. By default it is created.
	NoCreate bool

	// DefaultTTL is for requests that leave the ttl out. Default 60 s.
	DefaultTTL time.Duration

	// Timeout ends an operation that the service does not answer; waiting is not
	// counted. Default 4 s.
	Timeout time.Duration

	// How Open gets in. Give a ConnectionString alone, or ServiceURL with either
	// Key or Credential. To give more than one is an error.

	// ConnectionString is one of a storage account, with a key or a shared access
	// signature.
	ConnectionString string

	// ServiceURL is the account's blob service, such as
	// https://ACCOUNT.blob.core.windows.net.
	ServiceURL string

	// Account and Key are the account's name and one of its keys. The name may
	// be left out where it is the first label of the host.
	Account, Key string

	// Credential gets Entra ID tokens. The SDK sends them over TLS only.
	Credential azcore.TokenCredential

	// Client is for the client that Open makes: its transport, its logging. Its
	// retries are not used. Default: a transport of its own.
	Client *container.ClientOptions
}

const (
	defaultContainer = "leases"
	defaultPrefix    = "lease-"
	defaultTimeout   = 4 * time.Second
)

var (
	containerNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9](-?[a-z0-9]){2,62}$`) })
	prefixes       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./-]+$`) })
)

func (o *Options) withDefaults() (Options, error) {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Container == "" {
		full.Container = defaultContainer
	}
	if full.Prefix == "" {
		full.Prefix = defaultPrefix
	}
	if full.DefaultTTL == 0 {
		full.DefaultTTL = maxTTL
	}
	if full.Timeout == 0 {
		full.Timeout = defaultTimeout
	}
	return full, full.check()
}

func (o *Options) check() error {
	switch {
	case !containerNames().MatchString(o.Container) || len(o.Container) > 63:
		return leasehold.Invalid("container", "is no name of a container; want 3 to 63 lower-case letters, digits and single hyphens between them")
	case len(o.Prefix) > maxPrefix || !prefixes().MatchString(o.Prefix):
		return leasehold.Invalid("prefix", "has %d bytes; want 1 to %d of A-Z a-z 0-9 _ . - /", len(o.Prefix), maxPrefix)
	case o.Timeout < 0:
		return leasehold.Invalid("timeout", "is %v; want more than nothing", o.Timeout)
	}
	return checkTTL(o.DefaultTTL)
}

// New makes a store on a client that stays its owner's: Close does not close it.
// It makes no call; a missing container is created when it is first needed.
func New(client *container.Client, o *Options) (*Store, error) {
	full, err := o.withDefaults()
	if err != nil {
		return nil, storeError("open", "", err)
	}
	if client == nil {
		return nil, storeError("open", "", leasehold.Invalid("client", "is nil; want a container's client"))
	}
	return newStore(client, full, nil), nil
}

// Open makes a client and a store, and finds out whether the service can be
// reached and the container is there.
func Open(ctx context.Context, o *Options) (*Store, error) {
	full, err := o.withDefaults()
	if err != nil {
		return nil, storeError("open", "", err)
	}
	client, idle, err := full.client()
	if err != nil {
		return nil, storeError("open", "", err)
	}
	s := newStore(client, full, idle)
	if err := s.probe(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// client makes the client, and the function that closes its connections.
func (o *Options) client() (*container.Client, func(), error) {
	if err := o.checkCredentials(); err != nil {
		return nil, nil, err
	}
	options, idle := o.clientOptions()
	var client *container.Client
	var err error
	switch at := strings.TrimSuffix(o.ServiceURL, "/") + "/" + o.Container; {
	case o.ConnectionString != "":
		client, err = container.NewClientFromConnectionString(o.ConnectionString, o.Container, options)
	case o.Key != "":
		var key *container.SharedKeyCredential
		if key, err = container.NewSharedKeyCredential(o.account(), o.Key); err == nil {
			client, err = container.NewClientWithSharedKeyCredential(at, key, options)
		}
	default:
		client, err = container.NewClient(at, o.Credential, options)
	}
	if err != nil { // its text may repeat the secret
		return nil, nil, leasehold.Invalid("credentials", "cannot be read; want a connection string as the portal shows it, or a service URL with an account's key in base64")
	}
	return client, idle, nil
}

func (o *Options) checkCredentials() error {
	given := 0
	for _, is := range []bool{o.ConnectionString != "", o.Key != "", o.Credential != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return leasehold.Invalid("credentials", "are %d; want one of a connection string, a key and a credential", given)
	case o.ConnectionString != "" && o.ServiceURL != "":
		return leasehold.Invalid("service_url", "is given, and so is a connection string, which has one")
	case o.ConnectionString == "" && o.ServiceURL == "":
		return leasehold.Invalid("service_url", "is missing; want https://ACCOUNT.blob.core.windows.net")
	case o.Key == "" && o.Account != "":
		return leasehold.Invalid("account", "is given without a key")
	case o.Key != "" && o.account() == "":
		return leasehold.Invalid("account", "is missing; want the name of the storage account")
	}
	return nil
}

// account is the name given, or the first label of the host.
func (o *Options) account() string {
	if o.Account != "" {
		return o.Account
	}
	_, host, _ := strings.Cut(o.ServiceURL, "://")
	name, _, found := strings.Cut(host, ".blob.")
	if !found {
		return ""
	}
	return name
}

func (o *Options) clientOptions() (*container.ClientOptions, func()) {
	var options container.ClientOptions
	if o.Client != nil {
		options = *o.Client
	}
	if options.Transport != nil {
		return &options, func() {}
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 64
	options.Transport = &http.Client{Transport: transport}
	return &options, transport.CloseIdleConnections
}

var errClosed = errors.New("azblob: the store is closed")

func errTimeout(d time.Duration) error {
	return fmt.Errorf("no answer within %v: %w", d, context.DeadlineExceeded)
}
