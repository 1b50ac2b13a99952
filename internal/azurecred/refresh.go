package azurecred

import (
	"context"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// RedisScope is what a token for Azure's Redis is good for.
const RedisScope = "https://redis.azure.com/.default"

const (
	// early is how long before its end a token is replaced. Azure's library hands
	// out a new token from five minutes before the end of the old one.
	early = 4 * time.Minute

	retryAtLeast = 500 * time.Millisecond
	retryAtMost  = 30 * time.Second
)

// Refresher holds a token and replaces it before it ends, for a protocol that shows
// it once per connection.
type Refresher struct {
	credential azcore.TokenCredential
	scope      string
	stop       context.CancelFunc
	done       chan struct{}

	mu        sync.Mutex
	token     azcore.AccessToken
	err       error // of the last try; nil after a success
	listeners map[any]func(azcore.AccessToken)
}

// NewRefresher gets the first token, or fails with the reason. Close ends it.
func NewRefresher(ctx context.Context, credential azcore.TokenCredential, scope string) (*Refresher, error) {
	r := &Refresher{
		credential: credential, scope: scope,
		done: make(chan struct{}), listeners: map[any]func(azcore.AccessToken){},
	}
	token, err := r.fetch(ctx)
	if err != nil {
		return nil, err
	}
	r.token = token
	ctx, r.stop = context.WithCancel(context.Background())
	go r.run(ctx)
	return r, nil
}

// Close stops refreshing and waits for a fetch under way.
func (r *Refresher) Close() {
	r.stop()
	<-r.done
}

// Token returns the token. One that has ended is an error: why there is no new one.
func (r *Refresher) Token() (azcore.AccessToken, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil && !time.Now().Before(r.token.ExpiresOn) {
		return azcore.AccessToken{}, r.err
	}
	return r.token, nil
}

// Listen calls listen with each new token until the returned function is called. A
// key that listens already gets the new function.
func (r *Refresher) Listen(key any, listen func(azcore.AccessToken)) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners[key] = listen
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listeners, key)
	}
}

func (r *Refresher) run(ctx context.Context) {
	defer close(r.done)
	for timer := time.NewTimer(r.wait(false)); ; {
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		token, err := r.fetch(ctx)
		timer.Reset(r.wait(!r.replace(token, err)))
	}
}

// replace notes the outcome of a fetch and reports whether the token is a new one.
func (r *Refresher) replace(token azcore.AccessToken, err error) bool {
	r.mu.Lock()
	r.err = err
	if err != nil || !token.ExpiresOn.After(r.token.ExpiresOn) {
		r.mu.Unlock()
		return false
	}
	r.token = token
	listeners := make([]func(azcore.AccessToken), 0, len(r.listeners))
	for _, listen := range r.listeners {
		listeners = append(listeners, listen)
	}
	r.mu.Unlock()
	for _, listen := range listeners {
		listen(token)
	}
	return true
}

// wait returns how long the token in hand is good enough; or, after a fetch that
// brought no new one, when to try again: sooner, the nearer the end.
func (r *Refresher) wait(again bool) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := time.Until(r.token.ExpiresOn)
	switch {
	case again:
		return min(max(left/4, retryAtLeast), retryAtMost)
	case !r.token.RefreshOn.IsZero() && r.token.RefreshOn.Before(r.token.ExpiresOn):
		return max(time.Until(r.token.RefreshOn), retryAtLeast)
	case left > 2*early:
		return left - early
	}
	return max(left/2, retryAtLeast)
}

func (r *Refresher) fetch(ctx context.Context) (azcore.AccessToken, error) {
	return r.credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{r.scope}})
}
