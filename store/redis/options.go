package redis

import (
	"crypto/tls"
	"log/slog"
	"strings"
	"time"

	"github.com/leasehold/leasehold"
)

// kind is the store's name in errors.
const kind = "redis"

// DefaultTimeout is how long a call waits for its answer unless Options says
// otherwise.
const DefaultTimeout = 5 * time.Second

// Options are how leases are kept, and for Open also where. Nil is fine.
type Options struct {
	// KeyPrefix begins every key. A prefix that begins with a hash tag, such as
	// "{app}:", puts all keys into one slot of a Cluster: then the history works
	// there, and all leases are on one node. Default none.
	KeyPrefix string

	// NoHistory keeps no history, which makes every operation cheaper. It is so
	// on a Cluster without a hash tag in KeyPrefix in any case.
	NoHistory bool

	// Timeout is how long a call waits for its answer. A client that was handed in
	// has timeouts of its own, and the first calls of an outage end with those.
	// Default 5 s.
	Timeout time.Duration

	// Logger logs what fails in the background. Default: none.
	Logger *slog.Logger

	// The rest is for Open. New refuses it: a client has its own.

	// Addrs are HOST:PORT of one server, of some nodes of a Cluster, or of the
	// Sentinels. Default 127.0.0.1:6379.
	Addrs []string

	// Cluster says that Addrs are nodes of a Cluster. Default: only if there is
	// more than one and no MasterName.
	Cluster bool

	// MasterName says that Addrs are Sentinels, which know the master by it.
	MasterName string

	// DB is the number of the database. A Cluster has only 0. Default 0.
	DB int

	// Username and Password are sent to the server. Default none.
	Username, Password string

	// Token is asked for the password instead, before the last one ends: for
	// Entra ID and the like. Default none.
	Token TokenSource

	// TLS secures the connection. Default: none.
	TLS *tls.Config
}

func (o *Options) orDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Timeout == 0 {
		full.Timeout = DefaultTimeout
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	return full
}

// validate refuses what cannot be meant.
func (o Options) validate() error {
	if o.Timeout < 0 {
		return invalid("Timeout", "is %v; want more than zero", o.Timeout)
	}
	if strings.ContainsAny(o.KeyPrefix, "{}") && hashTag(o.KeyPrefix) == "" {
		return invalid("KeyPrefix", "has a brace; want none, or a hash tag such as {app} at the very beginning")
	}
	return nil
}

// validateOpen also checks where to connect.
func (o Options) validateOpen() error {
	switch {
	case o.Token != nil && o.Password != "":
		return invalid("Password", "is given and so is Token; want one of them")
	case o.Cluster && o.MasterName != "":
		return invalid("MasterName", "is for Sentinel; a Cluster has none")
	case o.DB != 0 && o.isCluster():
		return invalid("DB", "is %d; a Cluster has only database 0", o.DB)
	case o.DB < 0:
		return invalid("DB", "is %d; want 0 or more", o.DB)
	}
	return o.validate()
}

// connects reports whether the options say where or how to connect.
func (o Options) connects() bool {
	return len(o.Addrs) > 0 || o.Cluster || o.MasterName != "" || o.DB != 0 ||
		o.Username != "" || o.Password != "" || o.Token != nil || o.TLS != nil
}

func (o Options) isCluster() bool { return o.Cluster || len(o.Addrs) > 1 && o.MasterName == "" }

// hashTag returns the tag with which a prefix begins, or "".
func hashTag(prefix string) string {
	rest, ok := strings.CutPrefix(prefix, "{")
	tag, after, closed := strings.Cut(rest, "}")
	if !ok || !closed || strings.ContainsAny(tag+after, "{}") {
		return ""
	}
	return tag
}

func invalid(field, problem string, args ...any) error {
	err := leasehold.Invalid(field, problem, args...)
	err.Op, err.Store = "open", kind
	return err
}
