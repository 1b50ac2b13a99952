package postgres

import (
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
)

// kind is the store's name in errors.
const kind = "postgres"

// DefaultSchema is where the tables are unless Options says otherwise.
const DefaultSchema = "leasehold"

// Options are how leases are kept, and for Open also where. Nil is fine for New.
type Options struct {
	// Schema holds the tables. It is created if it is missing. Small letters,
	// digits and underscores. Default "leasehold".
	Schema string

	// NoHistory keeps no history, which makes every operation cheaper. History and
	// Watch are then unsupported.
	NoHistory bool

	// MustExist refuses to make the schema and its tables: they must be there.
	MustExist bool

	// Timeout is how long an operation may take with all its retries. Default 5 s.
	Timeout time.Duration

	// Listen is where to LISTEN for wake-ups, if the pool goes through PgBouncer: a
	// URL of the server itself. Without a password it gets the pool's. Default: the
	// pool's own address, and behind a pooler none; waiters then look every 5 s.
	Listen string

	// Logger logs what fails in the background. Default: none.
	Logger *slog.Logger

	// The rest is for Open. New refuses it: a pool has its own.

	// URL is where to connect: postgres://USER:PASSWORD@HOST:PORT/DATABASE?…, or
	// whatever else pgx understands. Config wins over it.
	URL string

	// Config is where to connect.
	Config *pgxpool.Config
}

func (o *Options) orDefaults() Options {
	var full Options
	if o != nil {
		full = *o
	}
	if full.Schema == "" {
		full.Schema = DefaultSchema
	}
	if full.Timeout == 0 {
		full.Timeout = 5 * time.Second
	}
	if full.Logger == nil {
		full.Logger = slog.New(slog.DiscardHandler)
	}
	return full
}

var schemaName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`) })

// validate refuses what cannot be meant.
func (o Options) validate() error {
	switch {
	case !schemaName().MatchString(o.Schema):
		return invalid("Schema", "is %.64q; want small letters, digits and underscores, at most 63", o.Schema)
	case o.Timeout < 0:
		return invalid("Timeout", "is %v; want more than zero", o.Timeout)
	}
	return nil
}

// poolConfig is the configuration of the pool that Open makes.
func (o Options) poolConfig() (*pgxpool.Config, error) {
	config := o.Config
	if config == nil {
		if o.URL == "" {
			return nil, invalid("URL", "is missing; want postgres://USER@HOST:PORT/DATABASE")
		}
		parsed, err := pgxpool.ParseConfig(o.URL)
		if err != nil {
			return nil, invalid("URL", "is not one of a PostgreSQL server; want postgres://USER@HOST:PORT/DATABASE?sslmode=…")
		}
		config = parsed
		if config.MaxConns < 32 {
			config.MaxConns = 32
		}
	}
	config = config.Copy()
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = openFor
	}
	if config.ConnConfig.ValidateConnect == nil && severalHosts(config.ConnConfig) {
		config.ConnConfig.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsPrimary
	}
	return config, nil
}

// severalHosts reports whether there are hosts to choose from: one of them may be, or
// become, a replica. (A fallback to the same host is one without TLS.)
func severalHosts(c *pgx.ConnConfig) bool {
	return slices.ContainsFunc(c.Fallbacks, func(f *pgconn.FallbackConfig) bool { return f.Host != c.Host || f.Port != c.Port })
}

// listenConfig is where to listen; nil if it is not said.
func (o Options) listenConfig(password string) (*pgx.ConnConfig, error) {
	if o.Listen == "" {
		return nil, nil
	}
	config, err := pgx.ParseConfig(o.Listen)
	if err != nil {
		return nil, invalid("Listen", "is not the URL of a PostgreSQL server; want postgres://USER@HOST:PORT/DATABASE?sslmode=…")
	}
	if config.Password == "" {
		config.Password = password
	}
	return config, nil
}

func invalid(field, problem string, args ...any) error {
	err := leasehold.Invalid(field, problem, args...)
	err.Op, err.Store = "open", kind
	return err
}
