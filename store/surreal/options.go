package surreal

import (
	"crypto/tls"
	"time"

	"github.com/leasehold/leasehold"
)

// kind is the store's name in errors.
const kind = "surreal"

// DefaultTimeout is how long an operation may take unless Options says otherwise.
const DefaultTimeout = 5 * time.Second

// Options are how leases are kept, and for Open also where. Nil is fine.
type Options struct {
	// Timeout is how long an operation may take with all its retries. Default 5 s.
	Timeout time.Duration

	// MustExist makes no tables: where they are missing, that is an error.
	MustExist bool

	// The rest is for Open. New refuses it: a client has its own.

	// Address is HOST:PORT. Default 127.0.0.1:8000.
	Address string

	// Namespace and Database say where the tables are. Default leasehold, both.
	// They are made if they are missing and the user may do that.
	Namespace, Database string

	// Username and Password sign in. Default: nobody signs in.
	Username, Password string

	// Level says what the user was defined on. Default LevelRoot.
	Level Level

	// TLS secures the connection. Default: none.
	TLS *tls.Config
}

// Level is what a user was defined on.
type Level string

// The levels of users.
const (
	LevelRoot      Level = "root"
	LevelNamespace Level = "namespace"
	LevelDatabase  Level = "database"
)

func (o *Options) orDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Timeout == 0 {
		full.Timeout = DefaultTimeout
	}
	return full
}

// withPlace fills in where to connect.
func (o Options) withPlace() Options {
	for field, value := range map[*string]string{
		&o.Address: "127.0.0.1:8000", &o.Namespace: "leasehold", &o.Database: "leasehold",
	} {
		if *field == "" {
			*field = value
		}
	}
	if o.Level == "" {
		o.Level = LevelRoot
	}
	return o
}

// validate refuses what cannot be meant.
func (o Options) validate() error {
	if o.Timeout < 0 {
		return invalid("Timeout", "is %v; want more than zero", o.Timeout)
	}
	return nil
}

// validateOpen also checks where to connect.
func (o Options) validateOpen() error {
	switch o.Level {
	case LevelRoot, LevelNamespace, LevelDatabase:
	default:
		return invalid("Level", "is %q; want root, namespace or database", string(o.Level))
	}
	if o.Username == "" && o.Password != "" {
		return invalid("Username", "is empty and there is a Password; want both or none")
	}
	return o.validate()
}

// connects reports whether the options say where or how to connect.
func (o Options) connects() bool {
	return o.Address != "" || o.Namespace != "" || o.Database != "" ||
		o.Username != "" || o.Password != "" || o.Level != "" || o.TLS != nil
}

func invalid(field, problem string, args ...any) error {
	err := leasehold.Invalid(field, problem, args...)
	err.Op, err.Store = "open", kind
	return err
}
