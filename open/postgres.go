package open

import (
	"context"
	"crypto/tls"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/store/postgres"
)

var postgresParams = []string{"schema", "history", "listen", "connections", "sslmode", "password-file", "ca", "cert", "key"}

// sslModes are libpq's, without allow, with which a server decides against TLS.
var sslModes = []string{"disable", "prefer", "require", "verify-ca", "verify-full"}

const (
	defaultConnections = 16
	connectTimeout     = 3 * time.Second
)

func openPostgres(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	options, err := u.postgres(o)
	if err != nil {
		return nil, err
	}
	store, err := postgres.Open(ctx, options)
	if err != nil {
		return nil, named(err)
	}
	return store, nil
}

// postgres reads where the server is, how to connect to it, and how leases are kept
// there. What the URL leaves out, libpq's environment variables and ~/.pgpass may say.
func (u storeURL) postgres(o Options) (*postgres.Options, error) {
	p, err := u.place()
	if err != nil {
		return nil, err
	}
	if len(p.path) > 1 {
		return nil, invalid("has a longer path than the name of a database; want %s", u.syntax)
	}
	keep, err := u.flag("history", true)
	if err != nil {
		return nil, err
	}
	options := &postgres.Options{Schema: u.params.Get("schema"), NoHistory: !keep, MustExist: o.MustExist, Logger: o.Logger, Timeout: callTimeout}
	if options.Config, err = u.postgresConfig(p, o); err != nil {
		return nil, err
	}
	if options.Listen, err = u.postgresListen(p, o); err != nil {
		return nil, err
	}
	a, err := u.access(o, nil, "password-file", p.password)
	switch {
	case err != nil:
		return nil, err
	case a.credential != nil:
		return nil, invalid("has Options.Credential, which is for Azure's services; want Options.Secret")
	case a.secret != "":
		options.Config.ConnConfig.Password = a.secret // instead of one of the environment
	}
	return options, nil
}

func (u storeURL) postgresConfig(p place, o Options) (*pgxpool.Config, error) {
	connections, err := u.number("connections")
	if err != nil {
		return nil, err
	}
	own, err := u.tls(o.TLS)
	if err != nil {
		return nil, err
	}
	mode, err := u.sslMode(own != nil, o.TLS != nil)
	if err != nil {
		return nil, err
	}
	at, err := u.postgresURL(p, mode)
	if err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(at)
	if err != nil {
		return nil, invalid("cannot be read by pgx; want %s", u.syntax)
	}
	config.ConnConfig.ConnectTimeout = connectTimeout
	config.MaxConns = defaultConnections
	if connections > 0 {
		config.MaxConns = int32(min(connections, 1<<15))
	}
	if mode == "verify-full" && own != nil {
		setTLS(config, own)
	}
	return config, nil
}

// postgresListen is the URL of another address of the same server, at which LISTEN
// works. The password is that of the pool.
func (u storeURL) postgresListen(p place, o Options) (string, error) {
	if !u.params.Has("listen") {
		return "", nil
	}
	if o.TLS != nil {
		return "", invalid("has listen and Options.TLS; name the certificate authority by ca")
	}
	if p.hosts = []string{u.params.Get("listen")}; strings.ContainsAny(p.hosts[0], ",@/?#") {
		return "", invalid("has a listen that is none; want listen=HOST:PORT, with the user, database and password of the URL")
	}
	mode, err := u.sslMode(u.params.Has("ca") || u.params.Has("cert"), false)
	if err != nil {
		return "", err
	}
	return u.postgresURL(p, mode)
}

// postgresURL is for pgx, so that parameters mean what they mean everywhere. It has
// no password, because pgx's errors show what it read.
func (u storeURL) postgresURL(p place, mode string) (string, error) {
	hosts, err := u.addrs(p, "5432")
	if err != nil {
		return "", err
	}
	query := url.Values{"sslmode": {mode}}
	for param, name := range map[string]string{"ca": "sslrootcert", "cert": "sslcert", "key": "sslkey"} {
		if u.params.Has(param) {
			query.Set(name, u.params.Get(param))
		}
	}
	at := url.URL{Scheme: "postgres", Host: strings.Join(hosts, ","), Path: "/", RawQuery: query.Encode()}
	if p.user != "" {
		at.User = url.User(p.user)
	}
	if len(p.path) == 1 {
		at.Path += p.path[0]
	}
	return at.String(), nil
}

// sslMode is the mode that the URL says, else one that verifies the server if there
// is something to verify it by.
func (u storeURL) sslMode(files, base bool) (string, error) {
	mode := u.params.Get("sslmode")
	switch {
	case mode == "" && files:
		return "verify-full", nil
	case mode == "":
		return "prefer", nil
	case !slices.Contains(sslModes, mode):
		return "", invalid("has the sslmode %s; want one of %s", u.shown("sslmode"), strings.Join(sslModes, ", "))
	case files && mode == "disable":
		return "", invalid("has sslmode=disable and something to verify the server by; want one of them")
	case base && mode != "verify-full":
		return "", invalid("has sslmode=%s and Options.TLS; want sslmode=verify-full or none", mode)
	}
	return mode, nil
}

// setTLS has every host of the configuration verified by own.
func setTLS(config *pgxpool.Config, own *tls.Config) {
	of := func(host string) *tls.Config {
		c := own.Clone()
		if c.ServerName == "" {
			c.ServerName = host
		}
		return c
	}
	config.ConnConfig.TLSConfig = of(config.ConnConfig.Host)
	for _, fallback := range config.ConnConfig.Fallbacks {
		fallback.TLSConfig = of(fallback.Host)
	}
}
