package open_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/jackc/pgx/v5"
	"github.com/surrealdb/surrealdb.go"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/leasehold/leasehold"
	"github.com/leasehold/leasehold/internal/testserver"
	"github.com/leasehold/leasehold/open"
)

const secret = "hunter2"

func secretFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret-file")
	if err := os.WriteFile(file, []byte(content+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// checkWorks acquires, renews and releases on the store at the URL.
func checkWorks(t *testing.T, url string, o *open.Options) {
	t.Helper()
	store := mustOpen(t, url, o)
	defer store.Close()
	grant, err := store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "open:" + t.Name(), Holder: "h", TTL: 30 * time.Second})
	if err != nil {
		t.Fatalf("Acquire on %s = %v", open.Scheme(url), err)
	}
	if _, err := store.Renew(t.Context(), leasehold.RenewRequest{ID: grant.ID, Resource: grant.Resource}); err != nil {
		t.Errorf("Renew on %s = %v", open.Scheme(url), err)
	}
	if _, err := store.Release(t.Context(), leasehold.ReleaseRequest{ID: grant.ID, Resource: grant.Resource}); err != nil {
		t.Errorf("Release on %s = %v", open.Scheme(url), err)
	}
}

// checkFails opens and acquires, expecting a clear error within 5 s that names the
// store and not the secret.
func checkFails(t *testing.T, rawURL string, o *open.Options, store string) {
	t.Helper()
	from := time.Now()
	s, err := open.Store(t.Context(), rawURL, o)
	if err == nil {
		_, err = s.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: 30 * time.Second})
		s.Close()
	}
	if took := time.Since(from); took > 5*time.Second {
		t.Errorf("it took %v to fail, want less than 5s", took)
	}
	if err == nil {
		t.Fatal("it worked, want an error")
	}
	t.Logf("%v", err)
	var failure *leasehold.Error
	if !errors.As(err, &failure) || failure.Store != store || !strings.Contains(err.Error(), store) && !errors.Is(err, leasehold.ErrInvalid) {
		t.Errorf("the error %q (%+v) does not name the store %s", err, failure, store)
	}
	if strings.Contains(err.Error(), secret) || strings.Contains(fmt.Sprintf("%+v", err), secret) {
		t.Errorf("the error %q repeats the secret", err)
	}
}

func TestRedis(t *testing.T) {
	s := testserver.Redis(t)
	checkWorks(t, "redis://"+s.Addr, nil)
	checkWorks(t, "redis://"+s.Addr+"/1?prefix=p:&history=false", nil)
	t.Run("Unreachable", func(t *testing.T) { checkFails(t, "redis://127.0.0.1:1", nil, "redis") })
	t.Run("Silent", func(t *testing.T) {
		checkFails(t, "redis://"+testserver.Silent(t), nil, "redis")
	})
	t.Run("TLSWhereThereIsNone", func(t *testing.T) { checkFails(t, "rediss://"+s.Addr, nil, "redis") })
	t.Run("UnknownUser", func(t *testing.T) { checkFails(t, "redis://somebody:"+secret+"@"+s.Addr, nil, "redis") })
}

func TestRedisPassword(t *testing.T) {
	s := testserver.Redis(t, "--requirepass", secret+"/", "--user", "reader", "on", ">"+secret, "~*", "&*", "+@read", "+@connection")
	checkWorks(t, "redis://:"+url.PathEscape(secret+"/")+"@"+s.Addr, nil)
	checkWorks(t, "redis://"+s.Addr, &open.Options{Secret: secret + "/"})
	checkWorks(t, "redis://default@"+s.Addr+"?password-file="+secretFile(t, secret+"/"), nil)
	t.Run("None", func(t *testing.T) { checkFails(t, "redis://"+s.Addr, nil, "redis") })
	t.Run("Wrong", func(t *testing.T) { checkFails(t, "redis://:"+secret+"@"+s.Addr, nil, "redis") })
	t.Run("ReadOnlyUser", func(t *testing.T) { checkFails(t, "redis://reader:"+secret+"@"+s.Addr, nil, "redis") })
}

func TestRedisTLS(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.RedisTLS(t, c)
	checkWorks(t, "rediss://"+s.Addr+"?ca="+c.CertFile, nil)
	checkWorks(t, "rediss://"+s.Addr, &open.Options{TLS: c.Client()})
	t.Run("UnknownAuthority", func(t *testing.T) { checkFails(t, "rediss://"+s.Addr, nil, "redis") })
	t.Run("WithoutTLS", func(t *testing.T) { checkFails(t, "redis://"+s.Addr, nil, "redis") })
}

// principal are the parameters of a service principal at a loopback authority.
func principal(t *testing.T, a *testserver.Authority, c *testserver.Certificate) string {
	return url.Values{
		"auth": {"service-principal"}, "tenant": {testserver.AuthorityTenant}, "client": {testserver.AuthorityClient},
		"secret-file": {secretFile(t, secret)}, "authority": {a.URL}, "ca": {c.CertFile},
	}.Encode()
}

// The user is found in the token, and tokens are replaced before they end.
func TestRedisWithTokens(t *testing.T) {
	c := testserver.NewCertificate(t)
	a := testserver.NewAuthority(t, c)
	a.SetLifetime(2 * time.Second)
	s := testserver.RedisTLS(t, c, "--user", testserver.AuthorityObject, "on", "nopass", "~*", "&*", "+@all", "--user", "default", "off")
	store := mustOpen(t, "rediss://"+s.Addr+"?"+principal(t, a, c), nil)
	defer store.Close()
	opened := len(a.Requests())
	for deadline := time.Now().Add(20 * time.Second); len(a.Requests()) < opened+2; time.Sleep(50 * time.Millisecond) { // polls a real server
		if time.Now().After(deadline) {
			t.Fatalf("%d tokens were fetched, want more than %d", len(a.Requests()), opened+1)
		}
		if _, err := store.Status(t.Context(), "r"); err != nil {
			t.Fatalf("Status = %v", err)
		}
	}
	t.Run("Refused", func(t *testing.T) {
		a.Refuse(true)
		checkFails(t, "rediss://"+s.Addr+"?"+principal(t, a, c), nil, "redis")
	})
}

func TestAzblob(t *testing.T) {
	s := testserver.Azurite(t)
	at := "azblob://" + s.Addr + "/" + testserver.AzuriteAccount
	checkWorks(t, "azblob:///leases", &open.Options{Secret: testserver.AzuriteConnection(s.Addr)})
	checkWorks(t, at+"/leases?tls=false&create=false", &open.Options{Secret: testserver.AzuriteKey})
	checkWorks(t, at+"/others?tls=false&prefix=p-&key-file="+secretFile(t, testserver.AzuriteKey), nil)
	t.Run("MissingContainer", func(t *testing.T) {
		checkFails(t, at+"/missing?tls=false&create=false", &open.Options{Secret: testserver.AzuriteKey}, "azblob")
	})
	t.Run("WrongKey", func(t *testing.T) {
		checkFails(t, at+"/leases?tls=false", &open.Options{Secret: "aHVudGVyMg=="}, "azblob")
	})
	t.Run("KeyThatIsNone", func(t *testing.T) {
		checkFails(t, at+"/leases?tls=false", &open.Options{Secret: secret + "!"}, "azblob")
	})
	t.Run("ConnectionStringThatIsNone", func(t *testing.T) {
		checkFails(t, "azblob:///leases", &open.Options{Secret: secret + ";"}, "azblob")
	})
	t.Run("Unreachable", func(t *testing.T) {
		checkFails(t, "azblob://127.0.0.1:1/a/leases?tls=false", &open.Options{Secret: testserver.AzuriteKey}, "azblob")
	})
	t.Run("Silent", func(t *testing.T) {
		checkFails(t, "azblob://"+testserver.Silent(t)+"/a/leases?tls=false", &open.Options{Secret: testserver.AzuriteKey}, "azblob")
	})
	t.Run("TLSWhereThereIsNone", func(t *testing.T) {
		checkFails(t, at+"/leases", &open.Options{Secret: testserver.AzuriteKey}, "azblob")
	})
}

// TestAzblobReadOnly has a shared access signature that allows to look.
func TestAzblobReadOnly(t *testing.T) {
	s := testserver.Azurite(t)
	leases, err := container.NewClientFromConnectionString(testserver.AzuriteConnection(s.Addr), "leases", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := leases.Create(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	signed, err := leases.GetSASURL(sas.ContainerPermissions{Read: true, List: true}, time.Now().Add(time.Hour), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(signed, "?")
	o := &open.Options{Secret: "BlobEndpoint=http://" + s.Addr + "/" + testserver.AzuriteAccount + ";SharedAccessSignature=" + query + ";"}
	store := mustOpen(t, "azblob:///leases", o)
	defer store.Close()
	if st, err := store.Status(t.Context(), "r"); err != nil || st.Locked() {
		t.Errorf("Status = %+v, %v; want free", st, err)
	}
	_, err = store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: "r", Holder: "h", TTL: 30 * time.Second})
	if !errors.Is(err, leasehold.ErrForbidden) || strings.Contains(err.Error(), "sig=") {
		t.Errorf("Acquire = %v, want ErrForbidden without the signature", err)
	}
	checkFails(t, "azblob:///leases", o, "azblob")
}

// TestAzblobIdentities is let in by each identity of Entra ID, whose tokens are
// replaced when they end.
func TestAzblobIdentities(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.AzuriteTLS(t, c)
	for method, prepare := range map[string]func(t *testing.T, a *testserver.Authority, p url.Values){
		"service-principal": func(t *testing.T, _ *testserver.Authority, p url.Values) {
			p.Set("tenant", testserver.AuthorityTenant)
			p.Set("client", testserver.AuthorityClient)
			p.Set("secret-file", secretFile(t, secret))
		},
		"workload-identity": func(t *testing.T, _ *testserver.Authority, p url.Values) {
			p.Set("tenant", testserver.AuthorityTenant)
			p.Set("client", testserver.AuthorityClient)
			p.Set("token-file", secretFile(t, secret))
		},
		"managed-identity": func(t *testing.T, a *testserver.Authority, p url.Values) {
			t.Setenv("IDENTITY_ENDPOINT", a.URL+"/msi/token")
			t.Setenv("IDENTITY_HEADER", secret)
			p.Del("authority")
		},
		"default": func(t *testing.T, _ *testserver.Authority, p url.Values) {
			t.Setenv("AZURE_TENANT_ID", testserver.AuthorityTenant)
			t.Setenv("AZURE_CLIENT_ID", testserver.AuthorityClient)
			t.Setenv("AZURE_CLIENT_SECRET", secret)
		},
	} {
		t.Run(method, func(t *testing.T) {
			a := testserver.NewAuthority(t, c)
			params := url.Values{"auth": {method}, "authority": {a.URL}, "ca": {c.CertFile}}
			prepare(t, a, params)
			a.SetLifetime(2 * time.Second)
			at := "azblob://" + s.Addr + "/" + testserver.AzuriteAccount + "/leases?"
			store := mustOpen(t, at+params.Encode(), nil)
			defer store.Close()
			grant, err := store.Acquire(t.Context(), leasehold.AcquireRequest{Resource: method, Holder: "h", TTL: time.Minute})
			if err != nil {
				t.Fatalf("Acquire = %v", err)
			}
			before := len(a.Requests())
			for deadline := time.Now().Add(30 * time.Second); len(a.Requests()) < before+2; time.Sleep(50 * time.Millisecond) { // polls a real server
				if time.Now().After(deadline) {
					t.Fatalf("%d tokens were fetched, want more than %d", len(a.Requests()), before+1)
				}
				if _, err := store.Renew(t.Context(), leasehold.RenewRequest{Resource: method, ID: grant.ID}); err != nil {
					t.Fatalf("Renew = %v", err)
				}
			}
			if _, err := store.Release(t.Context(), leasehold.ReleaseRequest{Resource: method, ID: grant.ID}); err != nil {
				t.Errorf("Release = %v", err)
			}
			if method == "managed-identity" {
				return // its tokens are kept for the whole process
			}
			a.Refuse(true)
			checkFails(t, at+params.Encode(), nil, "azblob")
		})
	}
}

func TestAzblobWithTokens(t *testing.T) {
	c := testserver.NewCertificate(t)
	a := testserver.NewAuthority(t, c)
	s := testserver.AzuriteTLS(t, c)
	at := "azblob://" + s.Addr + "/" + testserver.AzuriteAccount + "/leases?"
	checkWorks(t, at+principal(t, a, c), nil)
	t.Run("Expired", func(t *testing.T) {
		o := &open.Options{TLS: c.Client(), Credential: oldToken{}}
		checkFails(t, at, o, "azblob")
		store, err := open.Store(t.Context(), at, o)
		if store != nil || leasehold.ReasonOf(err) != leasehold.ReasonUnauthenticated {
			t.Errorf("Store with a token that has ended = %v, %v; want unauthenticated", store, err)
		}
	})
	t.Run("Refused", func(t *testing.T) {
		a.Refuse(true)
		checkFails(t, at+principal(t, a, c), nil, "azblob")
	})
	t.Run("UnknownAuthority", func(t *testing.T) {
		checkFails(t, at, &open.Options{Secret: testserver.AzuriteKey}, "azblob")
	})
}

// oldToken is a credential whose clock is wrong: its token has ended.
type oldToken struct{}

func (oldToken) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	now := time.Now()
	token := testserver.Token("https://storage.azure.com", 1, now.Add(-2*time.Hour), now.Add(-time.Hour))
	return azcore.AccessToken{Token: token, ExpiresOn: now.Add(time.Hour)}, nil
}

// A context that has ended is not waited out.
func TestOpenEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for url, secret := range map[string]string{
		"redis://127.0.0.1:1": "", "azblob://127.0.0.1:1/a/leases?tls=false": testserver.AzuriteKey,
		"postgres://u@127.0.0.1:1/db?connections=3": secret, "etcd://127.0.0.1:1": "", "etcds://127.0.0.1:1": "",
		"surreal://u@127.0.0.1:1": secret, "surreals://u@127.0.0.1:1": secret,
	} {
		if store, err := open.Store(ctx, url, &open.Options{Secret: secret}); store != nil || err == nil || strings.Contains(err.Error(), secret) && secret != "" {
			t.Errorf("Store(%s) = %v, %v, want an error", url, store, err)
		}
	}
}

func TestCosmos(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.Cosmos(t)
	secure := testserver.CosmosTLS(t, s.Addr, c)
	checkWorks(t, "cosmos:///db/leases?throughput=400", &open.Options{Secret: testserver.CosmosConnection(s.Addr)})
	checkWorks(t, "cosmos://"+s.Addr+"/db/leases?tls=false&create=false&partition=resource", &open.Options{Secret: testserver.CosmosKey})
	checkWorks(t, "cosmos://"+secure+"?ca="+c.CertFile+"&key-file="+secretFile(t, testserver.CosmosKey), nil)
	t.Run("MissingDatabase", func(t *testing.T) {
		checkFails(t, "cosmos://"+s.Addr+"/missing?tls=false&create=false", &open.Options{Secret: testserver.CosmosKey}, "cosmos")
	})
	t.Run("KeyThatIsNone", func(t *testing.T) {
		checkFails(t, "cosmos://"+s.Addr+"?tls=false", &open.Options{Secret: secret + "!"}, "cosmos")
	})
	t.Run("Unreachable", func(t *testing.T) {
		checkFails(t, "cosmos://127.0.0.1:1?tls=false", &open.Options{Secret: testserver.CosmosKey}, "cosmos")
	})
	t.Run("TLSWhereThereIsNone", func(t *testing.T) {
		checkFails(t, "cosmos://"+s.Addr, &open.Options{Secret: testserver.CosmosKey}, "cosmos")
	})
	t.Run("UnknownAuthority", func(t *testing.T) {
		checkFails(t, "cosmos://"+secure, &open.Options{Secret: testserver.CosmosKey}, "cosmos")
	})
	t.Run("Silent", func(t *testing.T) {
		checkFails(t, "cosmos://"+testserver.Silent(t)+"?tls=false", &open.Options{Secret: testserver.CosmosKey}, "cosmos")
	})
	t.Run("Tokens", func(t *testing.T) {
		a := testserver.NewAuthority(t, c)
		checkWorks(t, "cosmos://"+secure+"/db/leases?create=false&"+principal(t, a, c), nil)
		if len(a.Requests()) == 0 {
			t.Error("no token was fetched")
		}
		a.Refuse(true)
		checkFails(t, "cosmos://"+secure+"/db/leases?"+principal(t, a, c), nil, "cosmos")
	})
}

func TestEtcd(t *testing.T) {
	s := testserver.Etcd(t)
	checkWorks(t, "etcd://"+s.Addr, nil)
	checkWorks(t, "etcd://127.0.0.1:1,"+s.Addr+"/team/locks", nil)
	t.Run("Unreachable", func(t *testing.T) { checkFails(t, "etcd://127.0.0.1:1", nil, "etcd") })
	t.Run("Silent", func(t *testing.T) { checkFails(t, "etcd://"+testserver.Silent(t), nil, "etcd") })
	t.Run("TLSWhereThereIsNone", func(t *testing.T) { checkFails(t, "etcds://"+s.Addr, nil, "etcd") })
}

func TestEtcdTLS(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.EtcdTLS(t, c)
	checkWorks(t, "etcds://"+s.Addr+"?ca="+c.CertFile, nil)
	checkWorks(t, "etcds://"+s.Addr, &open.Options{TLS: c.Client()})
	t.Run("UnknownAuthority", func(t *testing.T) { checkFails(t, "etcds://"+s.Addr, nil, "etcd") })
	t.Run("WithoutTLS", func(t *testing.T) { checkFails(t, "etcd://"+s.Addr, nil, "etcd") })
}

// TestEtcdUsers has a user that may do what the store does below its prefix, and one
// that may only read there.
func TestEtcdUsers(t *testing.T) {
	s := testserver.Etcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Addr}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	rights := map[string]clientv3.PermissionType{"writer": clientv3.PermissionType(clientv3.PermReadWrite), "reader": clientv3.PermissionType(clientv3.PermRead)}
	_, errs := client.RoleAdd(t.Context(), "root")
	for user, right := range rights {
		_, err := client.RoleAdd(t.Context(), user)
		errs = errors.Join(errs, err)
		_, err = client.RoleGrantPermission(t.Context(), user, "leasehold/", clientv3.GetPrefixRangeEnd("leasehold/"), right)
		errs = errors.Join(errs, err)
	}
	for _, user := range []string{"root", "writer", "reader"} {
		_, err := client.UserAdd(t.Context(), user, secret)
		errs = errors.Join(errs, err)
		_, err = client.UserGrantRole(t.Context(), user, user)
		errs = errors.Join(errs, err)
	}
	if _, err := client.AuthEnable(t.Context()); errors.Join(errs, err) != nil {
		t.Fatal(errors.Join(errs, err))
	}
	checkWorks(t, "etcd://root:"+secret+"@"+s.Addr, nil)
	checkWorks(t, "etcd://writer@"+s.Addr, &open.Options{Secret: secret})
	checkWorks(t, "etcd://writer@"+s.Addr+"?password-file="+secretFile(t, secret), nil)
	t.Run("Nobody", func(t *testing.T) { checkFails(t, "etcd://"+s.Addr, nil, "etcd") })
	t.Run("WrongPassword", func(t *testing.T) { checkFails(t, "etcd://writer:"+secret+"x@"+s.Addr, nil, "etcd") })
	t.Run("ReadOnlyUser", func(t *testing.T) { checkFails(t, "etcd://reader:"+secret+"@"+s.Addr, nil, "etcd") })
	t.Run("OtherPrefix", func(t *testing.T) { checkFails(t, "etcd://writer:"+secret+"@"+s.Addr+"/other", nil, "etcd") })
}

func TestPostgres(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.PostgresTLS(t, c)
	const user, password = "postgres", testserver.PostgresPassword
	at := "postgres://" + user + "@" + s.Addr + "/postgres"
	o := &open.Options{Secret: password}
	checkWorks(t, at, o)
	checkWorks(t, testserver.PostgresURL(s.Addr, "postgres"), nil)
	checkWorks(t, "postgresql"+strings.TrimPrefix(at, "postgres")+"?schema=other&history=false&connections=2&listen="+s.Addr+"&password-file="+secretFile(t, password), nil)
	checkWorks(t, "postgres://"+user+"@127.0.0.1:1,"+s.Addr+"/postgres?sslmode=require", o)
	checkWorks(t, at+"?ca="+c.CertFile, o)
	checkWorks(t, at+"?sslmode=verify-ca&ca="+c.CertFile, o)
	checkWorks(t, at, &open.Options{Secret: password, TLS: c.Client()})
	t.Run("Unreachable", func(t *testing.T) { checkFails(t, "postgres://u@127.0.0.1:1", nil, "postgres") })
	t.Run("Silent", func(t *testing.T) { checkFails(t, "postgres://u@"+testserver.Silent(t), nil, "postgres") })
	t.Run("WrongPassword", func(t *testing.T) { checkFails(t, "postgres://"+user+":"+secret+"@"+s.Addr, nil, "postgres") })
	t.Run("NoPassword", func(t *testing.T) { checkFails(t, at, nil, "postgres") })
	t.Run("UnknownUser", func(t *testing.T) { checkFails(t, "postgres://somebody:"+secret+"@"+s.Addr, nil, "postgres") })
	t.Run("UnknownDatabase", func(t *testing.T) { checkFails(t, "postgres://"+user+"@"+s.Addr+"/missing", o, "postgres") })
	t.Run("UnknownAuthority", func(t *testing.T) { checkFails(t, at+"?sslmode=verify-full", o, "postgres") })
	t.Run("OtherAuthority", func(t *testing.T) {
		checkFails(t, at+"?ca="+testserver.NewCertificate(t).CertFile, o, "postgres")
	})
	t.Run("MissingTables", func(t *testing.T) {
		checkFails(t, at+"?schema=missing", &open.Options{Secret: password, MustExist: true}, "postgres")
	})
	t.Run("TLSWhereThereIsNone", func(t *testing.T) {
		checkFails(t, "postgres://"+user+"@"+testserver.Postgres(t).Addr+"?sslmode=require", o, "postgres")
	})
}

// Of several hosts that one is used that is no replica, so that a URL holds before and
// after a failover.
func TestPostgresSeveralHosts(t *testing.T) {
	primary, replica := testserver.Postgres(t).Addr, testserver.PostgresReplica(t).Addr
	o := &open.Options{Secret: testserver.PostgresPassword}
	for _, hosts := range []string{primary + "," + replica, replica + "," + primary} {
		checkWorks(t, "postgres://postgres@"+hosts+"/postgres", o)
	}
	t.Run("Replica", func(t *testing.T) { checkFails(t, "postgres://postgres@"+replica+"/postgres", o, "postgres") })
	t.Run("OnlyReplicas", func(t *testing.T) {
		checkFails(t, "postgres://postgres@"+replica+","+replica+"/postgres", o, "postgres")
		checkFails(t, "postgres://postgres@"+replica+",127.0.0.1:1/postgres", o, "postgres")
	})
}

// TestPostgresRights has users that may not make tables, or only read them.
func TestPostgresRights(t *testing.T) {
	s := testserver.Postgres(t)
	checkWorks(t, testserver.PostgresURL(s.Addr, "postgres"), nil)
	conn, err := pgx.Connect(t.Context(), testserver.PostgresURL(s.Addr, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), `
		CREATE USER nobody PASSWORD '`+secret+`';
		CREATE USER reader PASSWORD '`+secret+`';
		GRANT USAGE ON SCHEMA leasehold TO reader;
		GRANT SELECT ON ALL TABLES IN SCHEMA leasehold TO reader;
		GRANT SELECT ON ALL SEQUENCES IN SCHEMA leasehold TO reader;
		CREATE USER frozen PASSWORD '`+secret+`';
		GRANT ALL ON SCHEMA leasehold TO frozen;
		GRANT ALL ON ALL TABLES IN SCHEMA leasehold TO frozen;
		GRANT ALL ON ALL SEQUENCES IN SCHEMA leasehold TO frozen;
		ALTER USER frozen SET default_transaction_read_only = on;
		CREATE USER writer PASSWORD '`+secret+`';
		GRANT USAGE ON SCHEMA leasehold TO writer;
		GRANT ALL ON ALL TABLES IN SCHEMA leasehold TO writer;
		GRANT ALL ON ALL SEQUENCES IN SCHEMA leasehold TO writer`); err != nil {
		t.Fatal(err)
	}
	checkWorks(t, "postgres://writer:"+secret+"@"+s.Addr+"/postgres", nil)
	for _, user := range []string{"nobody", "reader", "frozen"} {
		t.Run(user, func(t *testing.T) {
			checkFails(t, "postgres://"+user+":"+secret+"@"+s.Addr+"/postgres", nil, "postgres")
		})
	}
	t.Run("NoSchema", func(t *testing.T) {
		checkFails(t, "postgres://writer:"+secret+"@"+s.Addr+"/postgres?schema=other", nil, "postgres")
	})
}

func TestSurreal(t *testing.T) {
	c := testserver.NewCertificate(t)
	s := testserver.Surreal(t)
	secure := testserver.TLSFront(t, s.Addr, c)
	checkWorks(t, "surreal://"+s.Addr, nil)
	checkWorks(t, "surreal://"+s.Addr+"/ns/db", nil)
	checkWorks(t, "surreals://"+secure+"/ns/db?ca="+c.CertFile, nil)
	checkWorks(t, "surreals://"+secure+"/ns/db", &open.Options{TLS: c.Client()})
	t.Run("Unreachable", func(t *testing.T) { checkFails(t, "surreal://127.0.0.1:1", nil, "surreal") })
	t.Run("Silent", func(t *testing.T) { checkFails(t, "surreal://"+testserver.Silent(t), nil, "surreal") })
	t.Run("TLSWhereThereIsNone", func(t *testing.T) { checkFails(t, "surreals://"+s.Addr, nil, "surreal") })
	t.Run("UnknownAuthority", func(t *testing.T) { checkFails(t, "surreals://"+secure, nil, "surreal") })
	t.Run("WithoutTLS", func(t *testing.T) { checkFails(t, "surreal://"+secure, nil, "surreal") })
	t.Run("MissingTables", func(t *testing.T) {
		checkFails(t, "surreal://"+s.Addr+"/ns/missing", &open.Options{MustExist: true}, "surreal")
	})
}

// TestSurrealUsers has a user of the database alone, and one that may only read.
func TestSurrealUsers(t *testing.T) {
	s := testserver.Surreal(t, "--user", "root", "--pass", secret)
	at := s.Addr + "/ns/db"
	checkWorks(t, "surreal://root:"+secret+"@"+at, nil)
	checkWorks(t, "surreal://root@"+at, &open.Options{Secret: secret})
	checkWorks(t, "surreal://root@"+at+"?level=root&password-file="+secretFile(t, secret), nil)
	db, err := surrealdb.FromEndpointURLString(t.Context(), "ws://"+s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	_, err = db.SignIn(t.Context(), surrealdb.Auth{Username: "root", Password: secret})
	err = errors.Join(err, db.Use(t.Context(), "ns", "db"))
	for _, define := range []string{"writer ON DATABASE PASSWORD $p ROLES EDITOR", "owner ON DATABASE PASSWORD $p ROLES OWNER", "reader ON DATABASE PASSWORD $p ROLES VIEWER"} {
		_, e := surrealdb.Query[any](t.Context(), db, "DEFINE USER "+strings.Replace(define, "$p", "'"+secret+"'", 1), nil)
		err = errors.Join(err, e)
	}
	if err != nil {
		t.Fatal(err)
	}
	checkWorks(t, "surreal://owner:"+secret+"@"+at+"?level=database", nil)
	checkWorks(t, "surreal://writer:"+secret+"@"+at+"?level=database", nil)
	t.Run("Nobody", func(t *testing.T) { checkFails(t, "surreal://"+at, nil, "surreal") })
	t.Run("WrongPassword", func(t *testing.T) { checkFails(t, "surreal://root:"+secret+"x@"+at, nil, "surreal") })
	t.Run("WrongLevel", func(t *testing.T) { checkFails(t, "surreal://writer:"+secret+"@"+at, nil, "surreal") })
	t.Run("ReadOnlyUser", func(t *testing.T) { checkFails(t, "surreal://reader:"+secret+"@"+at+"?level=database", nil, "surreal") })
}
