package azurecred_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/leasehold/leasehold/internal/azurecred"
	"github.com/leasehold/leasehold/internal/testserver"
)

// fake grants tokens as Azure's library does: the one it has, until five minutes
// before its end.
type fake struct {
	mu       sync.Mutex
	lifetime time.Duration
	refresh  time.Duration // of RefreshOn; zero: none
	err      error
	n        int
	token    azcore.AccessToken
}

func (f *fake) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	fresh := f.token.ExpiresOn.Sub(now) > 5*time.Minute && (f.refresh == 0 || now.Before(f.token.RefreshOn))
	if fresh {
		return f.token, nil
	}
	if f.err != nil {
		return azcore.AccessToken{}, f.err
	}
	f.n++
	f.token = azcore.AccessToken{Token: fmt.Sprint("token-", f.n), ExpiresOn: now.Add(f.lifetime)}
	if f.refresh != 0 {
		f.token.RefreshOn = now.Add(f.refresh)
	}
	return f.token, nil
}

func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

func (f *fake) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.n
}

func refresher(t *testing.T, credential azcore.TokenCredential) *azurecred.Refresher {
	t.Helper()
	r, err := azurecred.NewRefresher(t.Context(), credential, azurecred.RedisScope)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// At no moment of three days is the token in hand one that has ended, and it is
// not fetched more often than it must.
func TestTokenNeverEnds(t *testing.T) {
	for name, f := range map[string]*fake{
		"an hour":                       {lifetime: time.Hour},
		"a day, refreshed after a half": {lifetime: 24 * time.Hour, refresh: 12 * time.Hour},
		"six minutes":                   {lifetime: 6 * time.Minute},
		"ten seconds":                   {lifetime: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := refresher(t, f)
				var last atomic.Value
				last.Store("")
				r.Listen("key", func(azcore.AccessToken) { t.Error("a listener that was replaced is called") })
				stop := r.Listen("key", func(token azcore.AccessToken) { last.Store(token.Token) })
				total := min(72*time.Hour, 200*f.lifetime)
				for from := time.Now(); time.Since(from) < total; time.Sleep(f.lifetime / 7) {
					synctest.Wait()
					token, err := r.Token()
					if err != nil || !time.Now().Before(token.ExpiresOn) {
						t.Fatalf("after %v Token = ends %v, %v", time.Since(from), token.ExpiresOn, err)
					}
					if heard := last.Load(); heard != "" && heard != token.Token {
						t.Fatalf("the listener heard %q, the token is %q", heard, token.Token)
					}
				}
				if most := 3*int(total/f.lifetime) + 3; f.count() < 2 || f.count() > most {
					t.Errorf("%d tokens were fetched in %v, want from 2 to %d", f.count(), total, most)
				}
				stop()
				last.Store("")
				time.Sleep(2 * f.lifetime)
				synctest.Wait()
				if last.Load() != "" {
					t.Error("a listener that was stopped is called")
				}
			})
		})
	}
}

// An authority that is away for a while costs nothing; one that stays away is the
// error once the token has ended, and no error after it is back.
func TestAuthorityAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("away")
		f := &fake{lifetime: time.Hour}
		r := refresher(t, f)
		f.fail(away)
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if token, err := r.Token(); err != nil || token.Token != "token-1" {
			t.Errorf("Token before its end = %q, %v, want token-1", token.Token, err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if _, err := r.Token(); !errors.Is(err, away) {
			t.Errorf("Token after its end = %v, want the authority's error", err)
		}
		f.fail(nil)
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if token, err := r.Token(); err != nil || token.Token != "token-2" {
			t.Errorf("Token when the authority is back = %q, %v, want token-2", token.Token, err)
		}
	})
}

func TestNoFirstToken(t *testing.T) {
	away := errors.New("away")
	if _, err := azurecred.NewRefresher(t.Context(), &fake{err: away}, azurecred.RedisScope); !errors.Is(err, away) {
		t.Errorf("NewRefresher = %v, want the authority's error", err)
	}
}

// The same with Azure's library and real time.
func TestRefreshFromAnAuthority(t *testing.T) {
	a := newAuthority(t)
	a.SetLifetime(2 * time.Second)
	credential, err := azurecred.New(azurecred.Config{
		Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient,
		SecretFile: write(t, "secret", secret), ClientOptions: a.options, DisableInstanceDiscovery: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	r := refresher(t, credential)
	tokens := make(chan string, 10)
	r.Listen("key", func(token azcore.AccessToken) {
		select {
		case tokens <- token.Token:
		default:
		}
	})
	first, _ := r.Token()
	for range 2 {
		select {
		case next := <-tokens:
			if next == first.Token {
				t.Error("the listener heard the old token")
			}
		case <-time.After(20 * time.Second):
			t.Fatal("no new token in 20s")
		}
	}
	if scope := a.Requests()[0].Get("scope"); scope != "https://redis.azure.com/.default openid offline_access profile" {
		t.Errorf("the authority was shown the scope %q", scope)
	}
}
