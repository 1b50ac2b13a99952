package azurecred_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"go.uber.org/goleak"

	"github.com/leasehold/leasehold/internal/azurecred"
	"github.com/leasehold/leasehold/internal/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "hunter2-secret"

// scopes has one scope per test: the tokens of a managed identity are kept for the
// whole process.
var scopes atomic.Int64

func newScope() string { return fmt.Sprintf("https://service%d.example/.default", scopes.Add(1)) }

// authority is a loopback authority and the options that lead a client there.
type authority struct {
	*testserver.Authority
	options azcore.ClientOptions
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	for _, name := range os.Environ() { // of a machine in Azure
		if name, _, _ = strings.Cut(name, "="); strings.HasPrefix(name, "AZURE_") || strings.HasPrefix(name, "IDENTITY_") || strings.HasPrefix(name, "MSI_") {
			t.Setenv(name, "")
		}
	}
	c := testserver.NewCertificate(t)
	a := testserver.NewAuthority(t, c)
	transport := &http.Transport{TLSClientConfig: c.Client()}
	t.Cleanup(transport.CloseIdleConnections)
	return &authority{Authority: a, options: azcore.ClientOptions{
		Cloud:     cloud.Configuration{ActiveDirectoryAuthorityHost: a.URL},
		Transport: &http.Client{Transport: imds{transport, a.URL}},
	}}
}

// imds leads requests for the machine's identity service to the authority.
type imds struct {
	*http.Transport
	authority string
}

func (i imds) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "169.254.169.254" {
		target, err := url.Parse(i.authority)
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.URL.Scheme, r.URL.Host, r.Host = target.Scheme, target.Host, ""
	}
	return i.Transport.RoundTrip(r)
}

func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// rsaCertificate writes a certificate with an RSA key: Entra ID takes no other.
func rsaCertificate(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "principal.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))+
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// Every way to an identity fetches a token from the authority, keeps it, and
// fetches another one when it is about to end.
func TestEveryMethodFetchesAndRefreshes(t *testing.T) {
	tests := []struct {
		name   string
		config func(t *testing.T, a *authority) azurecred.Config
		shown  map[string]string // what the authority sees
	}{
		{"default chain, by the environment", func(t *testing.T, _ *authority) azurecred.Config {
			t.Setenv("AZURE_TENANT_ID", testserver.AuthorityTenant)
			t.Setenv("AZURE_CLIENT_ID", testserver.AuthorityClient)
			t.Setenv("AZURE_CLIENT_SECRET", secret)
			return azurecred.Config{}
		}, map[string]string{"client_id": testserver.AuthorityClient, "client_secret": secret}},
		{"default chain, by the machine", func(t *testing.T, _ *authority) azurecred.Config {
			return azurecred.Config{Method: azurecred.Default}
		}, nil},
		{"managed identity of a machine", func(t *testing.T, _ *authority) azurecred.Config {
			return azurecred.Config{Method: azurecred.ManagedIdentity}
		}, nil},
		{"user-assigned managed identity of a web app", func(t *testing.T, a *authority) azurecred.Config {
			t.Setenv("IDENTITY_ENDPOINT", a.URL+"/msi/token")
			t.Setenv("IDENTITY_HEADER", "header")
			return azurecred.Config{Method: azurecred.ManagedIdentity, Client: testserver.AuthorityClient}
		}, map[string]string{"client_id": testserver.AuthorityClient}},
		{"workload identity", func(t *testing.T, _ *authority) azurecred.Config {
			return azurecred.Config{
				Method: azurecred.WorkloadIdentity, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient,
				TokenFile: write(t, "token", "service-account-token"),
			}
		}, map[string]string{"client_assertion": "service-account-token"}},
		{"workload identity, by the environment", func(t *testing.T, _ *authority) azurecred.Config {
			t.Setenv("AZURE_TENANT_ID", testserver.AuthorityTenant)
			t.Setenv("AZURE_CLIENT_ID", testserver.AuthorityClient)
			t.Setenv("AZURE_FEDERATED_TOKEN_FILE", write(t, "token", "service-account-token"))
			return azurecred.Config{Method: azurecred.WorkloadIdentity}
		}, map[string]string{"client_assertion": "service-account-token"}},
		{"service principal with a secret", func(t *testing.T, _ *authority) azurecred.Config {
			return azurecred.Config{
				Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient,
				SecretFile: write(t, "secret", secret+"\n"),
			}
		}, map[string]string{"client_id": testserver.AuthorityClient, "client_secret": secret}},
		{"service principal with a certificate", func(t *testing.T, _ *authority) azurecred.Config {
			return azurecred.Config{
				Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient,
				CertificateFile: rsaCertificate(t),
			}
		}, map[string]string{"client_id": testserver.AuthorityClient, "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := newAuthority(t)
			c := tt.config(t, a)
			c.ClientOptions, c.DisableInstanceDiscovery = a.options, true
			credential, err := azurecred.New(c)
			if err != nil {
				t.Fatal(err)
			}
			scope := newScope()
			a.SetLifetime(time.Minute)
			first := token(t, credential, scope)
			a.SetLifetime(time.Hour)
			second := token(t, credential, scope)
			if first == second {
				t.Errorf("a token that ends soon was not replaced")
			}
			if third := token(t, credential, scope); third != second {
				t.Errorf("a token that lasts was replaced")
			}
			requests := a.Requests()
			for name, want := range tt.shown {
				if got := requests[len(requests)-1].Get(name); got != want {
					t.Errorf("the authority was shown %s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

func token(t *testing.T, credential azcore.TokenCredential, scope string) string {
	t.Helper()
	token, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{scope}})
	if err != nil {
		t.Fatalf("GetToken = %v", err)
	}
	return token.Token
}

func TestRefusedTokensSayWhyButNotTheSecret(t *testing.T) {
	for name, config := range map[string]azurecred.Config{
		"service principal": {Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient, SecretFile: write(t, "secret", secret)},
		"managed identity":  {Method: azurecred.ManagedIdentity},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAuthority(t)
			a.Refuse(true)
			config.ClientOptions, config.DisableInstanceDiscovery = a.options, true
			credential, err := azurecred.New(config)
			if err != nil {
				t.Fatal(err)
			}
			from := time.Now()
			_, err = credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{newScope()}})
			if err == nil || !strings.Contains(err.Error(), "the authority refuses") || strings.Contains(err.Error(), secret) {
				t.Errorf("GetToken = %v, want the authority's words without the secret", err)
			}
			if took := time.Since(from); took > 5*time.Second {
				t.Errorf("GetToken took %v, want less than 5s", took)
			}
		})
	}
}

// A silent authority must not hold up a caller for minutes.
func TestSilentAuthority(t *testing.T) {
	a := newAuthority(t)
	a.options.Transport = silent{}
	credential, err := azurecred.New(azurecred.Config{Method: azurecred.ManagedIdentity, ClientOptions: a.options})
	if err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	if _, err := credential.GetToken(t.Context(), policy.TokenRequestOptions{Scopes: []string{newScope()}}); err == nil {
		t.Error("GetToken = nil, want an error")
	}
	if took := time.Since(from); took > 5*time.Second {
		t.Errorf("GetToken took %v, want less than 5s", took)
	}
}

type silent struct{}

func (silent) Do(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

func TestConfigRefuses(t *testing.T) {
	file := write(t, "file", secret)
	principal := azurecred.Config{Method: azurecred.ServicePrincipal, Tenant: testserver.AuthorityTenant, Client: testserver.AuthorityClient}
	with := func(c azurecred.Config, change func(*azurecred.Config)) azurecred.Config {
		change(&c)
		return c
	}
	tests := []struct {
		config azurecred.Config
		want   string
	}{
		{azurecred.Config{Method: "magic"}, `unknown method "magic"; want one of default, managed-identity`},
		{azurecred.Config{SecretFile: file}, "default takes no secret-file"},
		{azurecred.Config{Method: azurecred.ManagedIdentity, Tenant: "t"}, "managed-identity takes no tenant"},
		{azurecred.Config{Method: azurecred.Developer, TokenFile: file}, "developer takes no token-file"},
		{azurecred.Config{Method: azurecred.ServicePrincipal, Client: "c"}, "service-principal needs a tenant"},
		{principal, "needs a secret-file or a certificate-file, and not both"},
		{with(principal, func(c *azurecred.Config) { c.SecretFile, c.CertificateFile = file, file }), "and not both"},
		{with(principal, func(c *azurecred.Config) { c.SecretFile = secret }), "the secret-file cannot be read"},
		{with(principal, func(c *azurecred.Config) { c.CertificateFile = secret }), "the certificate-file cannot be read"},
		{with(principal, func(c *azurecred.Config) { c.CertificateFile = file }), "has no certificate with its private key"},
	}
	for _, tt := range tests {
		_, err := azurecred.New(tt.config)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("New(%+v) = %v, want %q", tt.config, err, tt.want)
		}
	}
}
