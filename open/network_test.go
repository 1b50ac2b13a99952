package open

import (
	"context"
	"errors"
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
		{"redis://:hun?ter2@localhost", Options{}, "has a parameter that is none of its own"},
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
		{"rediss://localhost?auth=default&authority=http://x", Options{}, "has an authority without https"},
		{"rediss://localhost?ca=nowhere.pem", Options{}, "has a ca that cannot be read"},

		{"azblob:leases", Options{}, "has no // after the scheme"},
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

func TestAzblobOptions(t *testing.T) {
	tests := []struct{ url, service, account, container string }{
		{"azblob://acme/locks", "https://acme.blob.core.windows.net", "acme", "locks"},
		{"azblob://acme.blob.example.net", "https://acme.blob.example.net", "acme", ""},
		{"azblob://127.0.0.1:10000/dev/locks?tls=false", "http://127.0.0.1:10000/dev", "dev", "locks"},
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
	for _, url := range []string{"redis://u:hunter2@h:1,h/3?prefix=x", "rediss://h?auth=default", "azblob://a/b", "azblob://h:1/a/b?tls=false", "redis://[::1", "redis://%"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		u, _, err := parse(url)
		if err == nil && strings.HasPrefix(u.rest, "//") {
			_, err = u.place()
			if err == nil {
				_, _ = u.redis(Options{})
			}
		}
		if err != nil && !errors.Is(err, leasehold.ErrInvalid) {
			t.Errorf("%q = %v, want ErrInvalid", url, err)
		}
	})
}
