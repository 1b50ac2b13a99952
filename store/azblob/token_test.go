package azblob_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/store/azblob"
)

const tokenLifetime = time.Hour

// authority grants numbered tokens that last an hour, and stands before the
// project's own Azure API as the service's check of tokens does.
type authority struct {
	api       http.RoundTripper
	signature string // with which the API lets in whom the authority lets in

	granted   []time.Time // when, by number
	down      bool        // no tokens are granted
	revoked   int         // tokens up to this number are refused
	challenge bool        // a refusal says where tokens come from
	refused   int         // requests
	calls     int
}

func (a *authority) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	if a.down {
		return azcore.AccessToken{}, errors.New("the authority is down")
	}
	if len(o.Scopes) != 1 || o.Scopes[0] != "https://storage.azure.com/.default" {
		return azcore.AccessToken{}, fmt.Errorf("a token for %q", o.Scopes)
	}
	a.granted = append(a.granted, time.Now())
	return azcore.AccessToken{Token: fmt.Sprint("SECRET-", len(a.granted)), ExpiresOn: time.Now().Add(tokenLifetime)}, nil
}

func (a *authority) RoundTrip(r *http.Request) (*http.Response, error) {
	a.calls++
	var n int
	_, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer SECRET-%d", &n)
	if err != nil || n <= a.revoked || time.Since(a.granted[n-1]) >= tokenLifetime {
		a.refused++
		header := http.Header{"X-Ms-Error-Code": {"InvalidAuthenticationInfo"}}
		if a.challenge {
			header.Set("WWW-Authenticate", `Bearer authorization_uri=https://login.microsoftonline.com/tenant/oauth2/authorize resource_id=https://storage.azure.com`)
		}
		return &http.Response{StatusCode: 401, Header: header, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
	}
	signed := r.Clone(r.Context())
	signed.Header.Del("Authorization")
	signed.URL.Scheme = "http"
	signed.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&"+a.signature, "&")
	return a.api.RoundTrip(signed)
}

// withAuthority runs a test on a store that is let in by tokens.
func withAuthority(t *testing.T, test func(s *scene, a *authority)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := newAzureAPI(t)
		shared, err := container.NewSharedKeyCredential(account, key)
		if err != nil {
			t.Fatal(err)
		}
		query, err := sas.AccountSignatureValues{
			ExpiryTime:    time.Now().Add(24 * time.Hour),
			Permissions:   (&sas.AccountPermissions{Read: true, Write: true, Create: true, List: true}).String(),
			ResourceTypes: (&sas.AccountResourceTypes{Container: true, Object: true, Service: true}).String(),
		}.SignWithSharedKey(shared)
		if err != nil {
			t.Fatal(err)
		}
		a := &authority{api: api.transport, signature: query.Encode(), challenge: true}
		s, err := azblob.Open(t.Context(), &azblob.Options{ServiceURL: "https://127.0.0.1/" + account, Credential: a, Client: onPipe(a)})
		if err != nil {
			t.Fatalf("Open = %v, want success", err)
		}
		defer s.Close()
		x := &scene{TB: t, Store: s, faults: &faults{}, other: onAzureAPI(t, api)}
		x.lease = x.acquired("r", leasehold.ID{}).Lease
		test(x, a)
	})
}

// TestTokensAreRefreshed holds a lease for hours: no call is made with a token that
// has ended, one token serves for an hour, and an authority that is down for some
// minutes before a token's end is not noticed.
func TestTokensAreRefreshed(t *testing.T) {
	testserver.Wanted(t)
	withAuthority(t, func(s *scene, a *authority) {
		start := time.Now()
		for time.Since(start) < 5*tokenLifetime {
			a.down = time.Since(start)%tokenLifetime > 55*time.Minute && time.Since(start)%tokenLifetime < 58*time.Minute
			s.wantReason("renew", operations["renew"](s), "")
			time.Sleep(longest / 3)
		}
		if a.refused != 0 {
			t.Errorf("%d calls of %d were refused", a.refused, a.calls)
		}
		if n := len(a.granted); n < 5 || n > 7 {
			t.Errorf("%d tokens in 5 hours, want one for each hour", n)
		}
	})
}

// TestRefusedToken: the service refuses a token before its end. It says where
// tokens come from: a new one is fetched, and the call is made again, once.
func TestRefusedToken(t *testing.T) {
	for _, op := range []string{"acquire", "renew", "release", "change", "break", "status", "list"} {
		withAuthority(t, func(s *scene, a *authority) {
			a.revoked = len(a.granted)
			s.wantReason(op, operations[op](s), "")
			if a.refused != 1 || len(a.granted) != 2 {
				t.Errorf("%s: %d calls were refused and %d tokens granted; want one refused, and a second token", op, a.refused, len(a.granted))
			}
		})
	}
}

// TestTokenRefusedForGood: the error says that the caller is not known, at once, and
// nothing happened. The next call shows a new token.
func TestTokenRefusedForGood(t *testing.T) {
	for _, op := range []string{"acquire", "renew", "release", "change", "break", "status", "list"} {
		withAuthority(t, func(s *scene, a *authority) {
			start := time.Now()
			for _, a.challenge = range []bool{true, false} {
				a.revoked, a.refused = 1000, 0
				s.wantReason(op, operations[op](s), leasehold.ReasonUnauthenticated)
				if want := map[bool]int{true: 2, false: 1}[a.challenge]; a.refused != want {
					t.Errorf("%s: %d calls were refused, want %d", op, a.refused, want)
				}
				a.revoked = 0
				s.heldBy(s.lease)
			}
			if took := time.Since(start); took != 0 {
				t.Errorf("%s took %v, want no pause", op, took)
			}
			s.wantReason(op, operations[op](s), "")
		})
	}
}

// TestNoToken: the token has ended and there is no other. No call is made, and what
// was to be done is not in doubt.
func TestNoToken(t *testing.T) {
	for _, op := range []string{"acquire", "renew", "release", "change", "break", "status", "list"} {
		withAuthority(t, func(s *scene, a *authority) {
			infinite, err := s.Acquire(s.Context(), leasehold.AcquireRequest{Resource: "kept", Holder: "h", TTL: leasehold.Infinite})
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(tokenLifetime + time.Second)
			a.down, a.calls = true, 0
			s.wantReason(op, operations[op](s), leasehold.ReasonUnauthenticated)
			if a.calls != 0 {
				t.Errorf("%s: %d calls without a token", op, a.calls)
			}
			a.down = false
			if _, err := s.Release(s.Context(), leasehold.ReleaseRequest{Resource: "kept", ID: infinite.ID}); err != nil {
				t.Errorf("Release with a new token = %v, want success", err)
			}
		})
	}
}
