package redis

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9/auth"

	"github.com/leasehold/leasehold/internal/sleep"
)

// TokenSource returns a token that serves as the password, and when it ends; the
// zero time: never. For Entra ID, Options.Username is the object id of the
// identity and the source asks a credential of package azidentity for the scope
// https://redis.azure.com/.default.
//
// It is asked before the last token ends, and the connections that stand show the
// new one at once.
type TokenSource func(ctx context.Context) (token string, expires time.Time, err error)

const (
	// refreshAfter is the part of its life after which a token is replaced. The
	// rest is for repeating what failed.
	refreshAfter = 0.75

	// minRefresh keeps a source that answers with tokens already over from being
	// asked in a tight loop.
	minRefresh = 100 * time.Millisecond

	// maxRetry is the longest pause after a source has failed.
	maxRetry = 30 * time.Second
)

// tokenError is the error of a source, before anything was sent.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return "the token source failed: " + e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }

// tokenProvider gives connections their credentials, and those that stand new
// ones.
type tokenProvider struct {
	source   TokenSource
	username string
	timeout  time.Duration
	logger   *slog.Logger
	asked    chan struct{} // closed when there is a first token

	fetching sync.Mutex // one at a time asks

	mu        sync.Mutex
	token     string
	fetched   time.Time
	expires   time.Time // zero: never
	listeners map[auth.CredentialsListener]bool
}

func newTokenProvider(o Options) *tokenProvider {
	return &tokenProvider{
		source: o.Token, username: o.Username, timeout: o.Timeout, logger: o.Logger,
		asked: make(chan struct{}), listeners: map[auth.CredentialsListener]bool{},
	}
}

// Subscribe implements auth.StreamingCredentialsProvider.
func (p *tokenProvider) Subscribe(l auth.CredentialsListener) (auth.Credentials, auth.UnsubscribeFunc, error) {
	if err := p.ensure(context.Background()); err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listeners[l] = true
	return p.credentials(), func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.listeners, l)
		return nil
	}, nil
}

func (p *tokenProvider) credentials() auth.Credentials {
	return auth.NewBasicCredentials(p.username, p.token)
}

// ensure asks for a token unless there is one that has not ended.
func (p *tokenProvider) ensure(ctx context.Context) error {
	p.fetching.Lock()
	defer p.fetching.Unlock()
	p.mu.Lock()
	good := p.token != "" && (p.expires.IsZero() || time.Now().Before(p.expires))
	p.mu.Unlock()
	if good {
		return nil
	}
	return p.fetch(ctx)
}

// fetch asks for a token and shows it to the connections that stand. The caller
// holds fetching.
func (p *tokenProvider) fetch(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	token, expires, err := p.source(ctx)
	if err == nil && token == "" {
		err = fmt.Errorf("it answered without a token")
	}
	if err != nil {
		return &tokenError{err}
	}
	p.mu.Lock()
	first := p.token == ""
	p.token, p.expires, p.fetched = token, expires, time.Now()
	credentials := p.credentials()
	var listeners []auth.CredentialsListener
	for l := range p.listeners {
		listeners = append(listeners, l)
	}
	p.mu.Unlock()
	if first {
		close(p.asked)
	}
	for _, l := range listeners {
		l.OnNext(credentials)
	}
	return nil
}

// refreshLoop replaces the token before it ends, until the store is closed.
func (p *tokenProvider) refreshLoop(ctx context.Context) {
	select {
	case <-ctx.Done():
		return
	case <-p.asked:
	}
	failures := 0
	for {
		pause, endless := p.pause(failures)
		if endless {
			return
		}
		if !sleep.For(ctx, pause) {
			return
		}
		p.fetching.Lock()
		err := p.fetch(ctx)
		p.fetching.Unlock()
		if failures++; err == nil {
			failures = 0
		} else if ctx.Err() == nil {
			p.logger.Warn("redis: no new token; asking again", "err", err)
		}
	}
}

// pause is how long the token is good for, or after failures how long to wait
// before the source is asked again.
func (p *tokenProvider) pause(failures int) (d time.Duration, endless bool) {
	if failures > 0 {
		return min(minRefresh<<min(failures, 20), maxRetry), false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expires.IsZero() {
		return 0, true
	}
	life := p.expires.Sub(p.fetched)
	return max(time.Duration(float64(life)*refreshAfter), minRefresh), false
}
