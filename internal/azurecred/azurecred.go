// Package azurecred makes an Azure credential from configuration: which identity a
// program has, never a key. Azure's own library, azidentity, does the work; here is
// one place that says what may be given together.
package azurecred

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Methods are the ways to an identity. The empty one is Default.
const (
	Default          = "default"           // Azure's default chain: environment, workload, managed, developer
	ManagedIdentity  = "managed-identity"  // of the machine; Client names a user-assigned one
	WorkloadIdentity = "workload-identity" // of a Kubernetes service account
	ServicePrincipal = "service-principal" // with a secret or a certificate
	Developer        = "developer"         // who is signed in to az, azd or PowerShell
)

// Config says which identity to use. The zero value is the default chain.
type Config struct {
	// Method is one of the methods. Default: Default.
	Method string

	// Tenant and Client are the directory and the application. Workload identity
	// takes AZURE_TENANT_ID and AZURE_CLIENT_ID for those that are not given.
	Tenant, Client string

	// SecretFile and CertificateFile have the service principal's secret, or its
	// certificate with the private key in PEM or PKCS #12. One of them.
	SecretFile, CertificateFile string

	// TokenFile has the service account's token. Default: AZURE_FEDERATED_TOKEN_FILE.
	TokenFile string

	// Client options are for tests and clouds of one's own.
	ClientOptions            azcore.ClientOptions
	DisableInstanceDiscovery bool
}

// method is how a credential of one method is made, and which fields it takes.
type method struct {
	fields   []string
	required []string
	timeout  time.Duration // of one token
	make     func(Config) (azcore.TokenCredential, error)
}

// A token that does not come in a few seconds will not come, and its caller waits
// with a lease in hand. The developer's tools are programs, which start slowly.
const (
	tokenTimeout     = 4 * time.Second
	developerTimeout = 15 * time.Second
)

var methods = map[string]method{
	Default:          {fields: []string{"tenant"}, timeout: developerTimeout, make: defaultChain},
	ManagedIdentity:  {fields: []string{"client"}, timeout: tokenTimeout, make: managedIdentity},
	WorkloadIdentity: {fields: []string{"tenant", "client", "token-file"}, timeout: tokenTimeout, make: workloadIdentity},
	ServicePrincipal: {
		fields:   []string{"tenant", "client", "secret-file", "certificate-file"},
		required: []string{"tenant", "client"},
		timeout:  tokenTimeout, make: servicePrincipal,
	},
	Developer: {fields: []string{"tenant"}, timeout: developerTimeout, make: developer},
}

// Methods returns the methods' names.
func Methods() []string {
	return []string{Default, ManagedIdentity, WorkloadIdentity, ServicePrincipal, Developer}
}

// New returns the credential. It asks for no token yet. Its errors name fields and
// methods, never a secret.
func New(c Config) (azcore.TokenCredential, error) {
	if c.Method == "" {
		c.Method = Default
	}
	m, ok := methods[c.Method]
	if !ok {
		return nil, fmt.Errorf("unknown method %.32q; want one of %s", c.Method, strings.Join(Methods(), ", "))
	}
	if err := m.validate(c); err != nil {
		return nil, err
	}
	credential, err := m.make(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.Method, err)
	}
	return &limited{TokenCredential: credential, timeout: m.timeout}, nil
}

// validate refuses a field that the method would ignore, and misses one that it needs.
func (m method) validate(c Config) error {
	given := map[string]string{
		"tenant": c.Tenant, "client": c.Client, "secret-file": c.SecretFile,
		"certificate-file": c.CertificateFile, "token-file": c.TokenFile,
	}
	for _, field := range []string{"tenant", "client", "secret-file", "certificate-file", "token-file"} {
		switch {
		case given[field] != "" && !slices.Contains(m.fields, field):
			return fmt.Errorf("%s takes no %s", c.Method, field)
		case given[field] == "" && slices.Contains(m.required, field):
			return fmt.Errorf("%s needs a %s", c.Method, field)
		}
	}
	return nil
}

// limited bounds how long one token may take.
type limited struct {
	azcore.TokenCredential
	timeout time.Duration
}

func (l *limited) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	token, err := l.TokenCredential.GetToken(ctx, o)
	if err != nil {
		err = &tokenError{err}
	}
	return token, err
}

// tokenError is an error of Azure's library, which writes whole pages, in one line.
type tokenError struct{ err error }

func (e *tokenError) Unwrap() error { return e.err }

func (e *tokenError) Error() string {
	words := slices.DeleteFunc(strings.Fields(e.err.Error()), func(word string) bool { return strings.Trim(word, "-") == "" })
	return "no token: " + strings.Join(words, " ")
}

func defaultChain(c Config) (azcore.TokenCredential, error) {
	return azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{
		ClientOptions: c.ClientOptions, DisableInstanceDiscovery: c.DisableInstanceDiscovery, TenantID: c.Tenant,
	})
}

func managedIdentity(c Config) (azcore.TokenCredential, error) {
	o := &azidentity.ManagedIdentityCredentialOptions{ClientOptions: c.ClientOptions}
	// Azure's own retries go on for minutes.
	if o.Retry.MaxRetries == 0 {
		o.Retry = policy.RetryOptions{MaxRetries: 3, RetryDelay: 200 * time.Millisecond, MaxRetryDelay: time.Second}
	}
	if c.Client != "" {
		o.ID = azidentity.ClientID(c.Client)
	}
	return azidentity.NewManagedIdentityCredential(o)
}

func workloadIdentity(c Config) (azcore.TokenCredential, error) {
	return azidentity.NewWorkloadIdentityCredential(&azidentity.WorkloadIdentityCredentialOptions{
		ClientOptions: c.ClientOptions, DisableInstanceDiscovery: c.DisableInstanceDiscovery,
		TenantID: c.Tenant, ClientID: c.Client, TokenFilePath: c.TokenFile,
	})
}

func servicePrincipal(c Config) (azcore.TokenCredential, error) {
	switch {
	case (c.SecretFile == "") == (c.CertificateFile == ""):
		return nil, fmt.Errorf("needs a secret-file or a certificate-file, and not both")
	case c.SecretFile != "":
		return withSecret(c)
	}
	return withCertificate(c)
}

// readFile does not repeat the file's name, in whose place people write the secret.
func readFile(field, name string) ([]byte, error) {
	content, err := os.ReadFile(name)
	var path *fs.PathError
	if errors.As(err, &path) {
		err = fmt.Errorf("the %s cannot be read: %w", field, path.Err)
	}
	return content, err
}

func withSecret(c Config) (azcore.TokenCredential, error) {
	content, err := readFile("secret-file", c.SecretFile)
	if err != nil {
		return nil, err
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return nil, errors.New("the secret-file is empty")
	}
	return azidentity.NewClientSecretCredential(c.Tenant, c.Client, secret, &azidentity.ClientSecretCredentialOptions{
		ClientOptions: c.ClientOptions, DisableInstanceDiscovery: c.DisableInstanceDiscovery,
	})
}

func withCertificate(c Config) (azcore.TokenCredential, error) {
	data, err := readFile("certificate-file", c.CertificateFile)
	if err != nil {
		return nil, err
	}
	certificates, key, err := azidentity.ParseCertificates(data, nil)
	if err != nil {
		return nil, fmt.Errorf("the certificate-file has no certificate with its private key: %w", err)
	}
	return azidentity.NewClientCertificateCredential(c.Tenant, c.Client, certificates, key, &azidentity.ClientCertificateCredentialOptions{
		ClientOptions: c.ClientOptions, DisableInstanceDiscovery: c.DisableInstanceDiscovery,
	})
}

func developer(c Config) (azcore.TokenCredential, error) {
	cli, err := azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: c.Tenant})
	if err != nil {
		return nil, err
	}
	azd, err := azidentity.NewAzureDeveloperCLICredential(&azidentity.AzureDeveloperCLICredentialOptions{TenantID: c.Tenant})
	if err != nil {
		return nil, err
	}
	shell, err := azidentity.NewAzurePowerShellCredential(&azidentity.AzurePowerShellCredentialOptions{TenantID: c.Tenant})
	if err != nil {
		return nil, err
	}
	return azidentity.NewChainedTokenCredential([]azcore.TokenCredential{cli, azd, shell}, nil)
}
