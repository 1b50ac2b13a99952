package open

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/azurecred"
	"github.com/leasehold/leasehold/store/redis"
)

var redisParams = []string{"prefix", "history", "cluster", "master", "password-file"}

// redissParams are for TLS, without which no token is sent.
var redissParams = slices.Concat(redisParams, []string{"ca", "cert", "key"}, identityParams)

// redisStore is a store with the connections to where its tokens come from.
type redisStore struct {
	*redis.Store
	authority *http.Client
}

func (s redisStore) Close() error {
	defer s.authority.CloseIdleConnections()
	return s.Store.Close()
}

func openRedis(ctx context.Context, u storeURL, o Options) (leasehold.Store, error) {
	options, err := u.redis(o)
	if err != nil {
		return nil, err
	}
	client, err := u.httpClient(o)
	if err != nil {
		return nil, err
	}
	if err := u.redisAccess(ctx, o, client, options); err != nil {
		client.CloseIdleConnections()
		return nil, err
	}
	store, err := redis.Open(ctx, options)
	if err != nil {
		client.CloseIdleConnections()
		return nil, named(err)
	}
	return redisStore{store, client}, nil
}

// redis reads where the server is and how leases are kept there.
func (u storeURL) redis(o Options) (*redis.Options, error) {
	p, err := u.place()
	if err != nil {
		return nil, err
	}
	options := &redis.Options{
		KeyPrefix: u.params.Get("prefix"), MasterName: u.params.Get("master"),
		Username: p.user, Password: p.password, Logger: o.Logger, Timeout: callTimeout,
	}
	if len(p.hosts) == 0 && len(p.path) > 0 {
		return nil, invalid("names no host, and a Unix socket is not taken; want %s", u.syntax)
	}
	port := "6379"
	if options.MasterName != "" {
		port = "26379" // of Sentinels
	}
	if options.Addrs, err = u.addrs(p, port); err != nil {
		return nil, err
	}
	switch len(p.path) {
	case 0:
	case 1:
		if options.DB, err = strconv.Atoi(p.path[0]); err != nil || options.DB < 0 {
			return nil, invalid("names a database that is no number; want %s/0", u.syntax)
		}
	default:
		return nil, invalid("has a longer path than the number of a database; want %s/0", u.syntax)
	}
	if options.Cluster, err = u.flag("cluster", false); err != nil {
		return nil, err
	}
	keep, err := u.flag("history", true)
	if err != nil {
		return nil, err
	}
	options.NoHistory = !keep
	if u.scheme == "rediss" {
		options.TLS, err = u.alwaysTLS(o)
	}
	return options, err
}

// redisAccess adds the password, or where the tokens come from that serve as one.
func (u storeURL) redisAccess(ctx context.Context, o Options, client *http.Client, options *redis.Options) error {
	a, err := u.access(o, client, "password-file", options.Password)
	if err != nil {
		return err
	}
	if a.credential == nil {
		options.Password = a.secret
		return nil
	}
	if options.TLS == nil {
		return invalid("has a credential but no TLS; want rediss://HOST:PORT")
	}
	options.Token = func(ctx context.Context) (string, time.Time, error) { return azurecred.RedisToken(ctx, a.credential) }
	if options.Username == "" {
		options.Username, err = redisUser(ctx, options.Token)
	}
	return err
}

// redisUser is whose tokens they are.
func redisUser(ctx context.Context, tokens redis.TokenSource) (string, error) {
	token, _, err := tokens(ctx)
	if err != nil {
		return "", &leasehold.Error{Reason: leasehold.ReasonUnavailable, Op: "open", Store: "redis", Cause: fmt.Errorf("redis: %w", err)}
	}
	user := azurecred.ObjectID(token)
	if user == "" {
		return "", invalid("names no user, and the token does not say whose it is; want rediss://USER@HOST:PORT")
	}
	return user, nil
}
