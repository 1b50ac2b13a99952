package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/observe"
	"github.com/leasehold/leasehold/internal/powers"
	"github.com/leasehold/leasehold/open"
	"github.com/leasehold/leasehold/server/auth"
)

const (
	// BlobOff as BlobListen means that there is no Azure Blob API.
	BlobOff = "off"

	// DefaultBlobListen is where the Azure Blob API listens by default.
	DefaultBlobListen = "127.0.0.1:10000"

	maxReserve       = 1 << 20 // MiB
	maxHealthTimeout = time.Minute
)

// Options are the flags of leasehold serve. Defaults returns those of a command
// line without any.
type Options struct {
	Listen string // address of the JSON API; port 0 picks a free one

	// BlobListen is the address of the Azure Blob API, or BlobOff. Empty:
	// DefaultBlobListen, or a free port if Listen has port 0.
	BlobListen string

	Store      string // URL of the store to serve; empty: the one in Data
	Secret     string // password, key or connection string of Store, where its URL has none
	Data       string // directory of the embedded store and of blobs; made if it is missing
	Durability string // full or normal
	InMemory   bool   // instead of Data, a directory in memory that Close removes
	Reserve    int64  // MiB of disk kept back for when the disk is full

	BlobAccounts    string        // file of storage accounts; empty: the development account
	BlobSnapshotTTL time.Duration // how long a new snapshot stays; zero: for ever

	TokenFile      string // of the tokens that callers must show; empty: the listener is open
	TokenFileGroup bool   // the token file's group may read it
	Rate           float64
	Hosts          []string // further Host names to answer to without tokens
	TLS            auth.TLSOptions
	Insecure       bool // listen beyond this machine without tokens or TLS

	MaxConnections int // for each listener
	MaxWaiters     int
	Timeouts       Timeouts

	Health Health

	Version  string           // for headers and logs
	Logger   *slog.Logger     // nil: none
	LogLevel *slog.LevelVar   // of Logger; nil: it cannot be changed
	Observe  *observe.Program // nil: there are neither metrics nor traces
}

// Health is how /health/leasing tries to acquire a lease. What is zero has the
// defaults of package health.
type Health struct {
	Name         string
	TTL, Timeout time.Duration
}

// Timeouts end connections that stand still. There is none on a whole request:
// clients come to wait.
type Timeouts struct {
	Header   time.Duration // for the head of a request
	Idle     time.Duration // between two requests
	Exchange time.Duration // for the body of a request, and for the client to read the answer
	Stall    time.Duration // for a blob's client, or the disk, to make progress
}

// Defaults returns the options of leasehold serve without flags.
func Defaults() Options {
	return Options{
		Listen: "127.0.0.1:8105", Data: "leasehold-data", Durability: "full", Reserve: 64,
		MaxConnections: 10_000, MaxWaiters: 10_000,
		Timeouts: Timeouts{Header: 5 * time.Second, Idle: 2 * time.Minute, Exchange: 10 * time.Second, Stall: time.Minute},
	}
}

// DatabaseFile returns the file of the embedded store in a data directory.
func DatabaseFile(data string) string { return filepath.Join(data, "leases.db") }

// ErrOptions matches an error that is the fault of an option or of a file that
// an option names. Its text speaks of the flags of leasehold serve.
var ErrOptions = errors.New("the options of the server are wrong")

// ErrListen matches the error of an address that cannot be listened on.
var ErrListen = errors.New("cannot listen")

// startError is a text that matches a sentinel, and nothing that it was made of.
type startError struct {
	kind error
	text string
}

func (e *startError) Error() string        { return e.text }
func (e *startError) Is(target error) bool { return target == e.kind }

func invalid(format string, args ...any) error {
	return &startError{ErrOptions, fmt.Sprintf(format, args...)}
}

func (o *Options) secure() bool { return o.TLS.CertFile != "" }

func (o *Options) servesBlobs() bool { return o.BlobListen != BlobOff }

// complete fills in what other options decide.
func (o *Options) complete() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.BlobListen == "" {
		o.BlobListen = DefaultBlobListen
		if _, port, err := net.SplitHostPort(o.Listen); err == nil && port == "0" {
			o.BlobListen = "127.0.0.1:0"
		}
	}
}

func (o *Options) validate() error {
	switch {
	case (o.TLS.CertFile == "") != (o.TLS.KeyFile == ""):
		return invalid("--tls-cert and --tls-key go together")
	case o.TLS.ClientCAFile != "" && !o.secure():
		return invalid("--client-ca needs TLS; give --tls-cert and --tls-key")
	case o.TLS.ClientCAFile != "" && o.TokenFile == "":
		return invalid("--client-ca needs --token-file, which says what each certificate may do")
	case o.TLS.RequireClientCert && o.TLS.ClientCAFile == "":
		return invalid("--require-client-cert needs --client-ca, the authority that the certificates are of")
	case o.Durability != "full" && o.Durability != "normal":
		return invalid("--durability is %q; want full or normal", o.Durability)
	case o.Reserve < 0 || o.Reserve > maxReserve:
		return invalid("--reserve is %d; want MiB from 0 to %d", o.Reserve, maxReserve)
	case o.MaxConnections < 1 || o.MaxWaiters < 1:
		return invalid("--max-connections and --max-waiters must be at least 1")
	case o.Health.Name != "" && leasehold.CheckResource(o.Health.Name) != nil:
		return invalid("--health-name is no name of a resource")
	case o.Health.TTL != 0 && (o.Health.TTL < leasehold.MinTTL || o.Health.TTL > leasehold.MaxTTL):
		return invalid("--health-ttl is %v; want %v to %v", o.Health.TTL, leasehold.MinTTL, leasehold.MaxTTL)
	case o.Health.Timeout < 0 || o.Health.Timeout > maxHealthTimeout:
		return invalid("--health-timeout is %v; want up to %v", o.Health.Timeout, maxHealthTimeout)
	case strings.HasPrefix(open.Scheme(o.Store), "http"):
		return invalid("--store names a server; to serve, name a store, or none for the data directory")
	case o.Store != "" && len(open.Lacks(o.Store, powers.Finding, powers.Listing)) > 0:
		return invalid("--store names a store that cannot find a lease by its id, without which the APIs cannot serve it; use it straight, or serve another")
	}
	if err := auth.CheckBind(o.Listen, o.TokenFile != "", o.secure(), o.Insecure); err != nil {
		return invalid("%v", err)
	}
	if !o.servesBlobs() {
		return nil
	}
	if o.BlobSnapshotTTL < 0 {
		return invalid("--blob-snapshot-ttl is %v; want a time from now, or 0 for ever", o.BlobSnapshotTTL)
	}
	// The development account's key is public: beyond this machine it is no key.
	if err := auth.CheckBind(o.BlobListen, o.BlobAccounts != "", o.secure(), o.Insecure); err != nil {
		return invalid("%s", strings.Replace(err.Error(), "--token-file", "--blob-accounts", 1))
	}
	return nil
}

// waitersPerCaller keeps one token from filling all queues. An open listener
// takes everybody for the same caller, so it needs no such limit.
func (o *Options) waitersPerCaller() int {
	if o.TokenFile == "" {
		return o.MaxWaiters
	}
	return max(1, o.MaxWaiters/10)
}

// allHosts adds the host that an insecure server listens on: it must be reached
// by the address that it was given.
func (o *Options) allHosts() []string {
	host, _, err := net.SplitHostPort(o.Listen)
	if !o.Insecure || err != nil || host == "" {
		return o.Hosts
	}
	if ip := net.ParseIP(host); ip != nil && ip.To4() == nil {
		host = "[" + host + "]"
	}
	return append([]string{host}, o.Hosts...)
}
