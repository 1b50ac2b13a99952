package open

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/google/go-cmp/cmp"

	"github.com/leasehold/leasehold"
)

// secret stands where a secret can stand; no error may repeat it.
const secret = "hunter2"

func secretFile(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret-file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

type noCredential struct{}

func (noCredential) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, errors.New("no token")
}

// What can be seen to be wrong is refused before any call.
func TestNetworkedStoreRefuses(t *testing.T) {
	file := secretFile(t, secret)
	empty := secretFile(t, "\n")
	connection := "AccountName=a;AccountKey=" + secret + ";BlobEndpoint=http://127.0.0.1:1/a;"
	tests := []struct {
		url  string
		o    Options
		want string
	}{
		{"redis:localhost", Options{}, "has no // after the scheme; want redis://HOST:PORT"},
		{"redis://", Options{}, "names no host"},
		{"redis://:hunter2@", Options{}, "names no host"},
		{"redis://:hun/ter2@localhost", Options{}, "has a slash in the user or password"},
		{"redis://:hun?ter2@localhost", Options{}, "has a question mark in the user or password"},
		{"redis://:%zzhunter2@localhost", Options{}, "has a broken %XX in the user or password"},
		{"redis://localhost/hunter2", Options{}, "names a database that is no number"},
		{"redis://localhost/-1", Options{}, "names a database that is no number"},
		{"redis://localhost/1/2", Options{}, "has a longer path"},
		{"redis://localhost/%zz", Options{}, "has a broken %XX in the path"},
		{"redis://local host", Options{}, "names a host that cannot be read"},
		{"redis://localhost:hunter2", Options{}, "names a host that cannot be read"},
		{"redis://localhost?cluster=maybe", Options{}, `has the cluster "maybe"; want true or false`},
		{"redis://localhost?history=no", Options{}, `has the history "no"; want true or false`},
		{"redis://localhost?ca=x", Options{}, `unknown parameter "ca"`},
		{"redis://localhost?auth=default", Options{}, `unknown parameter "auth"`},
		{"redis://localhost?password-file=nowhere", Options{}, "has a password-file that cannot be read"},
		{"redis://localhost?password-file=" + empty, Options{}, "has a password-file that is empty"},
		{"redis://localhost", Options{Credential: noCredential{}}, "has a credential but no TLS"},
		{"redis://:hunter2@localhost", Options{Secret: secret}, "has a password in the URL and Options.Secret; want one of them"},
		{"redis://:hunter2@localhost?password-file=" + file, Options{}, "has a password in the URL and password-file"},
		{"rediss://:hunter2@localhost?auth=default", Options{}, "has a password in the URL and auth"},
		{"rediss://localhost?tenant=t", Options{}, "has tenant without auth"},
		{"rediss://localhost?auth=hunger", Options{}, `has the auth "hunger"; want one of default, managed-identity`},
		{"rediss://localhost?auth=managed-identity&tenant=t", Options{}, "has an auth that cannot be used: managed-identity takes no tenant"},
		{"rediss://localhost?auth=default&authority=http://x", Options{}, "want authority=https://HOST"},
		{"rediss://localhost?ca=nowhere.pem", Options{}, "has a ca that cannot be read"},

		{"rediss://localhost?auth=default&authority=https://u:hunter2%40x", Options{}, "want authority=https://HOST"},
		{"rediss://localhost?auth=default&authority=https://", Options{}, "want authority=https://HOST"},
		{"rediss://localhost?auth=default&authority=https://x?hunter2", Options{}, "want authority=https://HOST"},
		{"redis://:hun?ter2=1@localhost", Options{}, "has a question mark in the user or password, or an @ in the parameters"},
		{"redis://:hun?prefix=ter2@localhost", Options{}, "has a question mark in the user or password"},
		{"redis://:@localhost", Options{}, "has an empty password"},
		{"redis://user:@localhost", Options{}, "has an empty password"},
		{"redis:///run/redis.sock", Options{}, "names no host, and a Unix socket is not taken; want redis://HOST:PORT"},
		{"redis://::1", Options{}, "names a host that cannot be read"},
		{"redis://[::1", Options{}, "names a host that cannot be read"},
		{"redis://localhost?prefix=", Options{}, `has the parameter "prefix" without a value`},
		{"redis://localhost?password-file=", Options{}, `has the parameter "password-file" without a value`},
		{"redis://localhost?password-file=hunter2", Options{}, "has a password-file that cannot be read"},
		{"rediss://localhost?ca=", Options{}, `has the parameter "ca" without a value`},
		{"rediss://localhost?prefix=a&prefix=b", Options{}, `has the parameter "prefix" more than once`},
		{"rediss://localhost?cert=" + file, Options{}, "has only one of cert and key"},
		{"rediss://localhost?cert=hunter2&key=hunter2", Options{}, "has a cert and key that cannot be used"},
		{"rediss://localhost?cert=" + file + "&key=" + file, Options{}, "has a cert and key that cannot be used"},
		{"rediss://localhost?ca=" + file, Options{}, "has a ca without a certificate"},
		{"rediss://localhost?auth=service-principal&tenant=t&client=c&secret-file=hunter2", Options{}, "the secret-file cannot be read"},
		{"rediss://localhost?auth=service-principal&tenant=t&client=c&secret-file=" + empty, Options{}, "the secret-file is empty"},
		{"rediss://localhost?auth=service-principal&tenant=t&client=c&certificate-file=hunter2", Options{}, "the certificate-file cannot be read"},
		{"AccountKey=hunter2;BlobEndpoint=http://localhost/a", Options{}, "has no scheme"},
		{"unix:///run/redis.sock", Options{}, `has the unknown scheme "unix"`},

		{"postgres:localhost", Options{}, "has no // after the scheme; want postgres://HOST:PORT/DATABASE"},
		{"postgres:///db", Options{}, "names no host"},
		{"postgres://localhost/a/b", Options{}, "has a longer path than the name of a database"},
		{"postgres://localhost:hunter2", Options{}, "names a host that cannot be read"},
		{"postgres://u:hun/ter2@localhost", Options{}, "has a slash in the user or password"},
		{"postgres://u:hun?ter2@localhost", Options{}, "has a question mark in the user or password"},
		{"postgres://u:hun?schema=ter2@localhost", Options{}, "has a question mark in the user or password"},
		{"postgres://localhost?sslmode=maybe", Options{}, `has the sslmode "maybe"; want one of disable, prefer`},
		{"postgres://localhost?sslmode=allow", Options{}, `has the sslmode "allow"; want one of disable, prefer`},
		{"postgres://localhost?sslmode=require", Options{TLS: &tls.Config{}}, "has sslmode=require and Options.TLS"},
		{"postgres://localhost?sslmode=disable", Options{TLS: &tls.Config{}}, "has sslmode=disable and something to verify the server by"},
		{"postgres://localhost?ca=hunter2", Options{}, "has a ca that cannot be read"},
		{"postgres://localhost?cert=hunter2", Options{}, "has only one of cert and key"},
		{"postgres://localhost?connections=0", Options{}, `has the connections "0"; want a number from 1`},
		{"postgres://localhost?history=no", Options{}, `has the history "no"`},
		{"postgres://localhost?schema=Hunter", Options{}, "want small letters, digits and underscores"},
		{"postgres://localhost?listen=postgres://u:hunter2%40h", Options{}, "want listen=HOST:PORT"},
		{"postgres://localhost?listen=h:1", Options{TLS: &tls.Config{}}, "has listen and Options.TLS"},
		{"postgres://localhost?listen=h:hunter2", Options{}, "names a host that cannot be read"},
		{"postgres://localhost?pool_max_conns=3", Options{}, `unknown parameter "pool_max_conns"`},
		{"postgres://localhost", Options{Credential: noCredential{}}, "has Options.Credential, which is for Azure"},
		{"postgres://u:hunter2@localhost", Options{Secret: secret}, "has a password in the URL and Options.Secret; want one of them"},
		{"postgres://localhost?password-file=nowhere", Options{}, "has a password-file that cannot be read"},

		{"etcd:localhost", Options{}, "has no // after the scheme; want etcd://HOST:PORT/PREFIX"},
		{"etcd:///leases", Options{}, "names no host"},
		{"etcd://localhost,[::1/leases", Options{}, "names a host that cannot be read"},
		{"etcd://:hunter2@localhost", Options{}, "has a password and no user; want etcd://USER@HOST:PORT/PREFIX"},
		{"etcd://user@localhost", Options{}, "has a user and no password"},
		{"etcd://u:hun?ter2@localhost", Options{}, "has a question mark in the user or password"},
		{"etcd://localhost?ca=x", Options{}, `unknown parameter "ca"; etcd://HOST:PORT/PREFIX takes password-file`},
		{"etcds://localhost?ca=nowhere.pem", Options{}, "has a ca that cannot be read"},
		{"etcd://u:hunter2@localhost", Options{Secret: secret}, "has a password in the URL and Options.Secret; want one of them"},
		{"etcd://localhost", Options{Credential: noCredential{}}, "has Options.Credential, which is for Azure"},

		{"surreal:localhost", Options{}, "has no // after the scheme; want surreal://HOST:PORT/NAMESPACE/DATABASE"},
		{"surreal:///n/d", Options{}, "names no host"},
		{"surreal://a,b/n/d", Options{}, "names 2 hosts; want one"},
		{"surreal://localhost/hunter2", Options{}, "has a path that is no namespace and database"},
		{"surreal://localhost/a/b/c", Options{}, "has a path that is no namespace and database"},
		{"surreal://localhost:hunter2/a/b", Options{}, "names a host that cannot be read"},
		{"surreal://u:hunter2@localhost?level=top", Options{}, `has the level "top"; want root, namespace or database`},
		{"surreal://:hunter2@localhost", Options{}, "has a password and no user; want surreal://USER@HOST:PORT/NAMESPACE/DATABASE"},
		{"surreal://user@localhost", Options{}, "has a user and no password"},
		{"surreal://u:hun?level=ter2@localhost", Options{}, "has a question mark in the user or password"},
		{"surreal://localhost?ca=x", Options{}, `unknown parameter "ca"`},
		{"surreals://localhost?ca=nowhere.pem", Options{}, "has a ca that cannot be read"},

		{"azblob:leases", Options{}, "has no // after the scheme"},
		{"azblob://a/leases?key-file=" + file + "&tenant=t", Options{}, "has tenant without auth"},
		{"azblob://a/leases", Options{Secret: "AccountName=a;AccountKey=" + secret}, "names a host, and so does the connection string"},
		{"azblob://user:hun?ter2=1&x@a/leases", Options{}, "has a parameter that is none of its own"},
		{"azblob://[::1/leases", Options{Secret: secret}, "names a host that cannot be read"},
		{"azblob://a%2Fb/leases", Options{Secret: secret}, "names a host that cannot be read"},
		{"azblob://a/hunter2%2Fx", Options{Secret: "a2V5"}, "3 to 63 lower-case letters"},
		{"azblob:///leases", Options{Secret: secret}, "names no host, and there is no connection string; want azblob://ACCOUNT/CONTAINER"},
		{"azblob://a,b/leases", Options{Secret: secret}, "names 2 hosts; want one"},
		{"azblob://a b/leases", Options{Secret: secret}, "names a host that cannot be read"},
		{"azblob://user:hunter2@a/leases", Options{}, "carries a user or password"},
		{"azblob://a/b/c/d", Options{Secret: secret}, "has a longer path"},
		{"azblob://a/leases?create=maybe", Options{Secret: secret}, `has the create "maybe"`},
		{"azblob://a/leases?tls=maybe", Options{Secret: secret}, `has the tls "maybe"`},
		{"azblob://a/leases?tls=false", Options{Credential: noCredential{}}, "has tls=false, without which no token is sent"},
		{"azblob://a/leases", Options{Secret: secret, Credential: noCredential{}}, "has Options.Secret and Options.Credential; want one of them"},
		{"azblob://a/leases?key-file=" + file, Options{Secret: secret}, "has Options.Secret and key-file"},
		{"azblob://a/leases?key-file=" + file + "&auth=developer", Options{}, "has key-file and auth"},
		{"azblob://a/leases?auth=developer", Options{Credential: noCredential{}}, "has Options.Credential and auth"},
		{"azblob://a/leases", Options{Secret: connection}, "names a host, and so does the connection string"},
		{"azblob:///leases?tls=true", Options{Secret: connection}, "has tls, which the connection string says"},
		{"azblob:///a/b", Options{Secret: connection}, "has a longer path"},
		{"azblob://a/leases?throughput=400", Options{}, `unknown parameter "throughput"`},

		{"cosmos://a/b/c/d", Options{Secret: secret}, "has a longer path"},
		{"cosmos://a?throughput=much", Options{Secret: secret}, `has the throughput "much"; want a number from 1`},
		{"cosmos://a?throughput=1", Options{Secret: secret}, "want at least 400"},
		{"cosmos://a?partition=hat", Options{Secret: secret}, "want resource, tenant or region"},
		{"cosmos://a?create=maybe", Options{Secret: secret}, `has the create "maybe"`},
		{"cosmos:a", Options{}, "has no // after the scheme"},
		{"cosmos://a?tls=false", Options{Credential: noCredential{}}, "has tls=false, without which no token is sent"},
		{"cosmos://a,b", Options{Secret: secret}, "names 2 hosts; want one"},
		{"cosmos://a/db", Options{Secret: "AccountEndpoint=https://a/;AccountKey=" + secret + ";"}, "names a host, and so does the connection string"},
		{"cosmos://a?ca=nowhere.pem", Options{Secret: secret}, "has a ca that cannot be read"},
		{"azblob://a?ca=nowhere.pem", Options{Secret: secret}, "has a ca that cannot be read"},
	}
	for _, tt := range tests {
		store, err := Store(t.Context(), tt.url, &tt.o)
		if store != nil || !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Store(%q) = %v, %v, want ErrInvalid with %q", tt.url, store, err, tt.want)
		}
		if err != nil && (strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "ter2")) {
			t.Errorf("Store(%q) = %v, which repeats the secret", tt.url, err)
		}
	}
}

// TestOneWayIn: of the ways to be let in, any two are an error that names both.
func TestOneWayIn(t *testing.T) {
	type way struct {
		what, params string
		o            Options
	}
	for store, file := range map[string]string{"rediss": "password-file", "azblob": "key-file", "cosmos": "key-file"} {
		ways := []way{
			{what: "Options.Secret", o: Options{Secret: secret}},
			{what: file, params: file + "=" + secretFile(t, secret)},
			{what: "Options.Credential", o: Options{Credential: noCredential{}}},
			{what: "auth", params: "auth=managed-identity"},
		}
		for i, a := range ways {
			for _, b := range ways[i+1:] {
				o := Options{Secret: a.o.Secret + b.o.Secret, Credential: a.o.Credential}
				if b.o.Credential != nil {
					o.Credential = b.o.Credential
				}
				_, err := Store(t.Context(), store+"://a?"+strings.Trim(a.params+"&"+b.params, "&"), &o)
				want := "has " + a.what + " and " + b.what + "; want one of them"
				if !errors.Is(err, leasehold.ErrInvalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) {
					t.Errorf("%s with %s and %s = %v, want %q", store, a.what, b.what, err, want)
				}
			}
		}
	}
}

func TestPlace(t *testing.T) {
	tests := []struct {
		url  string
		want place
	}{
		{"redis://h", place{hosts: []string{"h"}}},
		{"redis://u:p%2F%40%3A@h:1,[::1]:2/3?prefix=x", place{user: "u", password: "p/@:", hosts: []string{"h:1", "[::1]:2"}, path: []string{"3"}}},
		{"redis://:a@b@h", place{password: "a@b", hosts: []string{"h"}}},
		{"azblob:///a%2Fb//c/", place{path: []string{"a/b", "c"}}},
	}
	for _, tt := range tests {
		u, _, err := parse(tt.url)
		if err != nil {
			t.Fatalf("parse(%q) = %v", tt.url, err)
		}
		got, err := u.place()
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(place{})); err != nil || diff != "" {
			t.Errorf("place of %q: %v (-want +got):\n%s", tt.url, err, diff)
		}
	}
}

func TestRedisOptions(t *testing.T) {
	u, _, err := parse("rediss://u:p@a,b:1,[::1]/2?prefix=p:&history=false&master=m")
	if err != nil {
		t.Fatal(err)
	}
	o, err := u.redis(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:26379", "b:1", "[::1]:26379"}, o.Addrs); diff != "" {
		t.Errorf("Addrs (-want +got):\n%s", diff)
	}
	if o.DB != 2 || o.KeyPrefix != "p:" || !o.NoHistory || o.MasterName != "m" || o.Username != "u" || o.Password != "p" || o.TLS == nil {
		t.Errorf("redis options = %+v", o)
	}
}

func TestPostgresOptions(t *testing.T) {
	u, _, err := parse("postgres://us%20er:p%2F@a,b:1,[::1]/my%20db?schema=s&history=false&listen=d&connections=7")
	if err != nil {
		t.Fatal(err)
	}
	o, err := u.postgres(Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := o.Config.ConnConfig
	var hosts []string
	for _, f := range c.Fallbacks {
		hosts = append(hosts, fmt.Sprint(f.Host, " ", f.Port, " ", f.TLSConfig != nil))
	}
	if diff := cmp.Diff([]string{"a 5432 false", "b 1 true", "b 1 false", "::1 5432 true", "::1 5432 false"}, hosts); diff != "" || c.Host != "a" || c.TLSConfig == nil {
		t.Errorf("hosts begin with %s (-want +got):\n%s", c.Host, diff)
	}
	if want := "postgres://us%20er@d:5432/my%20db?sslmode=prefer"; o.Listen != want {
		t.Errorf("listens at %q, want %q", o.Listen, want)
	}
	if c.User != "us er" || c.Password != "p/" || c.Database != "my db" || o.Schema != "s" || !o.NoHistory || o.Config.MaxConns != 7 {
		t.Errorf("postgres options = %q %q %q %q %v %d", c.User, c.Password, c.Database, o.Schema, o.NoHistory, o.Config.MaxConns)
	}
}

func TestEtcdOptions(t *testing.T) {
	u, _, err := parse("etcds://u:p@a,b:1,[::1]/team/locks")
	if err != nil {
		t.Fatal(err)
	}
	o, err := u.etcd(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a:2379", "b:1", "[::1]:2379"}, o.Endpoints); diff != "" || o.Prefix != "team/locks/" || o.Username != "u" || o.Password != "p" || o.TLS == nil {
		t.Errorf("etcd options = %q %q %v (-want +got):\n%s", o.Prefix, o.Username, o.TLS, diff)
	}
}

func TestSurrealOptions(t *testing.T) {
	u, _, err := parse("surreals://u:p@h/ns/db?level=database")
	if err != nil {
		t.Fatal(err)
	}
	o, err := u.surreal(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if o.Address != "h:8000" || o.Namespace != "ns" || o.Database != "db" || o.Level != "database" || o.Username != "u" || o.Password != "p" || o.TLS == nil {
		t.Errorf("surreal options = %q %q %q %q %q", o.Address, o.Namespace, o.Database, o.Level, o.Username)
	}
}

func TestAzblobOptions(t *testing.T) {
	tests := []struct{ url, service, account, container string }{
		{"azblob://acme/locks", "https://acme.blob.core.windows.net", "acme", "locks"},
		{"azblob://acme.blob.example.net", "https://acme.blob.example.net", "acme", ""},
		{"azblob://127.0.0.1:10000/dev/locks?tls=false", "http://127.0.0.1:10000/dev", "dev", "locks"},
		{"azblob://[::1]:10000/dev/locks?tls=false", "http://[::1]:10000/dev", "dev", "locks"},
		{"azblob://localhost/dev/locks?create=false&prefix=p-", "https://localhost/dev", "dev", "locks"},
	}
	for _, tt := range tests {
		u, _, err := parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		o, err := u.azblob(Options{Secret: secret}, nil)
		if err != nil {
			t.Errorf("azblob options of %q = %v", tt.url, err)
			continue
		}
		if o.ServiceURL != tt.service || o.Account != tt.account || o.Container != tt.container || o.Key != secret {
			t.Errorf("azblob options of %q = %q %q %q, want %q %q %q", tt.url, o.ServiceURL, o.Account, o.Container, tt.service, tt.account, tt.container)
		}
	}
}

func TestCosmosOptions(t *testing.T) {
	tests := []struct{ url, endpoint, database, container string }{
		{"cosmos://acme", "https://acme.documents.azure.com", "", ""},
		{"cosmos://acme.documents.example.net/db", "https://acme.documents.example.net", "db", ""},
		{"cosmos://127.0.0.1:8081/db/locks?tls=false", "http://127.0.0.1:8081", "db", "locks"},
	}
	for _, tt := range tests {
		u, _, err := parse(tt.url)
		if err != nil {
			t.Fatal(err)
		}
		o, err := u.cosmos(Options{Secret: secret}, nil)
		if err != nil {
			t.Errorf("cosmos options of %q = %v", tt.url, err)
			continue
		}
		if o.Endpoint != tt.endpoint || o.Database != tt.database || o.Container != tt.container || o.Key != secret {
			t.Errorf("cosmos options of %q = %q %q %q, want %q %q %q", tt.url, o.Endpoint, o.Database, o.Container, tt.endpoint, tt.database, tt.container)
		}
	}
}

// A wrong URL is an error, whatever it is, and no part that can be a secret is in it.
func FuzzNetworkURL(f *testing.F) {
	for _, url := range []string{"redis://u:hunter2@h:1,h/3?prefix=x", "rediss://h?auth=default", "azblob://a/b", "azblob://h:1/a/b?tls=false", "redis://[::1", "redis://%", "postgres://u:hunter2@h,h:1/d?listen=h&sslmode=require", "etcds://u@h/p/q", "surreal://u:p@h/n/d?level=root"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		u, _, err := parse(url)
		if err == nil && strings.HasPrefix(u.rest, "//") {
			_, err = u.place()
			if err == nil {
				_, _ = u.redis(Options{})
				_, _ = u.postgres(Options{})
				_, _ = u.etcd(Options{})
				_, _ = u.surreal(Options{})
			}
		}
		if err != nil && !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("%q = %v, want ErrInvalid", url, err)
		}
	})
}

// A password with signs that a URL gives a meaning to is taken or refused, and never
// repeated.
func FuzzStraySigns(f *testing.F) {
	for _, signs := range []string{"", "/", "?", "@", "#", "%", "&", "=", ":", ",", "[", ";", " ", "?create=", "?x=", "&auth=", "/?prefix=", "?throughput=", "?ca=", "?key-file=", "%zz"} {
		f.Add(signs, "")
		f.Add("", signs)
		f.Add(signs, "&create=x")
	}
	f.Fuzz(func(t *testing.T, before, after string) {
		if strings.Contains("/"+before+after, "..") {
			return // what names a file is read
		}
		for _, scheme := range []string{"redis", "rediss", "postgres", "etcd", "etcds", "surreal", "azblob", "cosmos"} {
			for _, userinfo := range []string{"user:", ":", ""} {
				raw := scheme + "://" + userinfo + before + secret + after + "@a/b"
				if err := refusal(t, raw); err != nil && strings.Contains(err.Error(), secret) {
					t.Errorf("%q = %v, which repeats the secret", raw, err)
				}
			}
		}
	})
}

// refusal reads a URL up to where a call would be made.
func refusal(t *testing.T, raw string) error {
	u, d, err := parse(raw)
	if err != nil {
		return err
	}
	client, err := u.httpClient(Options{})
	if err != nil {
		return err
	}
	switch d.kind {
	case "redis":
		options, err := u.redis(Options{})
		if err == nil {
			_, err = u.access(Options{}, client, "password-file", options.Password)
		}
		return err
	case "postgres":
		_, err = u.postgres(Options{})
	case "etcd":
		_, err = u.etcd(Options{})
	case "surreal":
		_, err = u.surreal(Options{})
	case "azblob":
		_, err = u.azblob(Options{Secret: "a2V5"}, client)
	default:
		_, err = u.cosmos(Options{Secret: "a2V5"}, client)
	}
	return err
}
