package azurecred_test

import (
	"testing"
	"time"

	"github.com/leasehold/leasehold/internal/azurecred"
	"github.com/leasehold/leasehold/internal/testserver"
)

func TestRedisToken(t *testing.T) {
	a := newAuthority(t)
	credential, err := azurecred.New(azurecred.Config{
		Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient,
		SecretFile: write(t, "secret", secret), ClientOptions: a.options, DisableInstanceDiscovery: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	token, expires, err := azurecred.RedisToken(t.Context(), credential)
	if err != nil || time.Until(expires) < 59*time.Minute {
		t.Fatalf("RedisToken ends in %v, %v, want an hour", time.Until(expires), err)
	}
	if got := azurecred.ObjectID(token); got != testserver.AuthorityObject {
		t.Errorf("ObjectID = %q, want %q", got, testserver.AuthorityObject)
	}
	if scope := a.Requests()[0].Get("scope"); scope != azurecred.RedisScope+" openid offline_access profile" {
		t.Errorf("the authority was shown the scope %q", scope)
	}
	a.Refuse(true)
	if again, _, err := azurecred.RedisToken(t.Context(), credential); err != nil || again != token {
		t.Errorf("RedisToken while the last one lasts = a new one or %v, want the same", err)
	}
}

func FuzzObjectID(f *testing.F) {
	for _, token := range []string{"", "..", "a.b.c", testserver.Token("a", 1, time.Unix(0, 0), time.Unix(1, 0)), "x.eyJvaWQiOjF9.y"} {
		f.Add(token)
	}
	f.Fuzz(func(t *testing.T, token string) { azurecred.ObjectID(token) })
}
