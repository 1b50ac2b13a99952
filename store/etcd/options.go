package etcd

import (
	"crypto/tls"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

const (
	// DefaultPrefix begins every key unless Options says otherwise.
	DefaultPrefix = "leasehold/"

	// DefaultTimeout is how long an operation may take unless Options says
	// otherwise.
	DefaultTimeout = 5 * time.Second
)

// Options are how leases are kept, and for Open also where. Nil is fine.
type Options struct {
	// Prefix begins every key, and ends with a slash. Default DefaultPrefix.
	Prefix string

	// Timeout is how long an operation may take with all its attempts. Default 5 s.
	Timeout time.Duration

	// The rest is for Open. New refuses it: a client has its own.

	// Endpoints are HOST:PORT of the members. Default 127.0.0.1:2379.
	Endpoints []string

	// Username and Password are sent to etcd. Default none.
	Username, Password string

	// TLS secures the connections. Default: none.
	TLS *tls.Config
}

func (o *Options) orDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Prefix == "" {
		full.Prefix = DefaultPrefix
	}
	if full.Timeout == 0 {
		full.Timeout = DefaultTimeout
	}
	return full
}

// validate refuses what cannot be meant.
func (o Options) validate() error {
	switch {
	case o.Timeout < 0:
		return invalid("Timeout", "is %v; want more than zero", o.Timeout)
	case !strings.HasSuffix(o.Prefix, "/"):
		return invalid("Prefix", "is %.64q; want a slash at the end, so that no prefix begins another's keys", o.Prefix)
	case o.Password != "" && o.Username == "":
		return invalid("Username", "is missing, and there is a Password; want both or none")
	}
	return nil
}

// connects reports whether the options say where or how to connect.
func (o Options) connects() bool {
	return len(o.Endpoints) > 0 || o.Username != "" || o.Password != "" || o.TLS != nil
}

func invalid(field, problem string, args ...any) error {
	err := leasehold.Invalid(field, problem, args...)
	err.Op, err.Store = "open", kind
	return err
}
