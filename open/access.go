package open

import (
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/cloud"

	"github.com/leasehold/leasehold/internal/azurecred"
)

// identityParams are the parameters that say which Azure identity is used.
var identityParams = []string{"auth", "tenant", "client", "secret-file", "certificate-file", "token-file", "authority"}

// access is what is shown to a networked store: one of the two, or nothing.
type access struct {
	secret     string // a password, a key or a connection string
	credential azcore.TokenCredential
}

// access finds the one way in. The order is: a secret, a credential object, the
// identity that the URL configures. A second one is an error: which one was meant
// must not depend on an order that nobody remembers. SecretFile is the parameter
// that names a file with the secret, inURL the secret of the URL itself.
func (u storeURL) access(o Options, client *http.Client, secretFile, inURL string) (access, error) {
	var given []string
	note := func(what string, there bool) {
		if there {
			given = append(given, what)
		}
	}
	note("a password in the URL", inURL != "")
	note("Options.Secret", o.Secret != "")
	note(secretFile, u.params.Has(secretFile))
	note("Options.Credential", o.Credential != nil)
	note("auth", u.params.Has("auth"))
	if len(given) > 1 {
		return access{}, invalid("has %s and %s; want one of them", given[0], given[1])
	}
	for _, name := range identityParams {
		if u.params.Has(name) && !u.params.Has("auth") {
			return access{}, invalid("has %s without auth, which says what it is for; want auth=%s", name, strings.Join(azurecred.Methods(), ", "))
		}
	}
	switch {
	case u.params.Has(secretFile):
		secret, err := readSecret(secretFile, u.params.Get(secretFile))
		return access{secret: secret}, err
	case u.params.Has("auth"):
		credential, err := u.identity(client)
		return access{credential: credential}, err
	}
	return access{secret: inURL + o.Secret, credential: o.Credential}, nil
}

// login is the user and password of a store that takes nothing else: both or none.
func (u storeURL) login(p place, o Options) (user, password string, err error) {
	a, err := u.access(o, nil, "password-file", p.password)
	switch {
	case err != nil:
		return "", "", err
	case a.credential != nil:
		return "", "", invalid("has Options.Credential, which is for Azure's services; want Options.Secret")
	case a.secret != "" && p.user == "":
		return "", "", invalid("has a password and no user; want %s", strings.Replace(u.syntax, "//", "//USER@", 1))
	case a.secret == "" && p.user != "":
		return "", "", invalid("has a user and no password; give it as Options.Secret or by password-file")
	}
	return p.user, a.secret, nil
}

// azureAccess is access, with Azure's default chain where nothing is given.
func (u storeURL) azureAccess(o Options, client *http.Client) (access, error) {
	a, err := u.access(o, client, "key-file", "")
	if err != nil || a.secret != "" || a.credential != nil {
		return a, err
	}
	u.params.Set("auth", azurecred.Default)
	a.credential, err = u.identity(client)
	return a, err
}

// identity makes the credential that the URL configures.
func (u storeURL) identity(client *http.Client) (azcore.TokenCredential, error) {
	c := azurecred.Config{
		Method: u.params.Get("auth"), Tenant: u.params.Get("tenant"), Client: u.params.Get("client"),
		SecretFile: u.params.Get("secret-file"), CertificateFile: u.params.Get("certificate-file"), TokenFile: u.params.Get("token-file"),
	}
	if !slices.Contains(azurecred.Methods(), c.Method) {
		return nil, invalid("has the auth %s; want one of %s", u.shown("auth"), strings.Join(azurecred.Methods(), ", "))
	}
	if authority := u.params.Get("authority"); authority != "" {
		at, err := url.Parse(authority)
		if err != nil || at.Scheme != "https" || at.Hostname() == "" || authority != "https://"+at.Host && authority != "https://"+at.Host+"/" {
			return nil, invalid("has an authority that is none; want authority=https://HOST")
		}
		c.ClientOptions.Cloud = cloud.Configuration{ActiveDirectoryAuthorityHost: authority}
		c.DisableInstanceDiscovery = true // an authority of one's own is in no directory of authorities
	}
	c.ClientOptions.Transport = client
	credential, err := azurecred.New(c)
	if err != nil {
		return nil, invalid("has an auth that cannot be used: %v", err)
	}
	return credential, nil
}

// withoutPath leaves out the file's name, in whose place people write the secret.
func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

func readSecret(param, file string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", invalid("has a %s that cannot be read: %v", param, withoutPath(err))
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", invalid("has a %s that is empty", param)
	}
	return secret, nil
}
