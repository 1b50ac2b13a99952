package redis

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/auth"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// openFor is how long Open tries, however long calls may take.
const openFor = 4 * time.Second

// Open connects, and tries whether the server is there, knows the user and lets
// it run scripts. Close closes the connection.
func Open(ctx context.Context, o *Options) (*Store, error) {
	full := o.orDefaults()
	if err := full.validateOpen(); err != nil {
		return nil, err
	}
	var tokens *tokenProvider
	if full.Token != nil {
		tokens = newTokenProvider(full)
	}
	s := newStore(redis.NewUniversalClient(full.universal(tokens)), full, true)
	if tokens != nil {
		s.start(tokens.refreshLoop)
	}
	if err := s.probe(ctx); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// universal are the options of the client.
func (o Options) universal(tokens *tokenProvider) *redis.UniversalOptions {
	addrs := o.Addrs
	if len(addrs) == 0 {
		addrs = []string{"127.0.0.1:6379"}
	}
	return &redis.UniversalOptions{
		Addrs: addrs, MasterName: o.MasterName, IsClusterMode: o.isCluster(), DB: o.DB,
		Username: o.Username, Password: o.Password, StreamingCredentialsProvider: tokens.streaming(),
		TLSConfig: o.TLS, ContextTimeoutEnabled: true,
		DialTimeout: min(o.Timeout, 2*time.Second), ReadTimeout: o.Timeout, WriteTimeout: o.Timeout,
		DialerRetries: 1, MaxRetries: 1, PoolSize: 64, MinIdleConns: 1,
		// Two commands fewer that a user must be allowed to send.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// streaming keeps a nil provider from becoming an interface that is not nil.
func (p *tokenProvider) streaming() auth.StreamingCredentialsProvider {
	if p == nil {
		return nil
	}
	return p
}

// probe runs a script that changes nothing.
func (s *Store) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	_, err := eval(ctx, s.client, statusScript.variant(s.recording), s.arguments("leasehold", "", "", []any{""}))
	if err == nil {
		err = s.client.HGetAll(ctx, s.keys.settings).Err()
	}
	if err == nil {
		return nil
	}
	e := s.readFailure("open", "", err)
	switch silent := errors.Is(err, context.DeadlineExceeded); {
	case silent && s.opts.TLS != nil:
		e.Cause = &described{"redis: no answer; does the server speak TLS?", err}
	case errors.Is(err, io.EOF) && s.opts.TLS == nil:
		e.Cause = &described{"redis: the server closed the connection; does it want TLS?", err}
	}
	return e
}
