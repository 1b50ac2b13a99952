package serve

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
)

// readAccounts reads the accounts that may sign: a line each, name:key or
// name:key:key.
func readAccounts(path string) ([]sign.Account, error) {
	if path == "" {
		return []sign.Account{sign.Development()}, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("storage accounts: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("storage accounts: %w", err)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, invalid("%s holds keys and can be read by others than its owner; chmod 600 it", path)
	}
	var accounts []sign.Account
	lines := bufio.NewScanner(file)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		account, err := sign.ParseAccount(line)
		if err != nil {
			return nil, invalid("%s, line %d: %v; want name:key, the key in base64", path, n, err)
		}
		accounts = append(accounts, account)
	}
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("storage accounts: %w", lines.Err())
	case len(accounts) == 0:
		return nil, invalid("%s has no account; want lines of name:key", path)
	}
	return accounts, nil
}

// blobClosed is why the Azure Blob API serves no account, or "". A server with
// tokens accepts the public key only if its account is named.
func (o *Options) blobClosed() string {
	if o.TokenFile == "" || o.BlobAccounts != "" {
		return ""
	}
	return "This server has tokens and was started without storage accounts. --blob-accounts FILE names them, the development account too if it is wanted."
}

// blobHosts are the Host names that the Azure Blob API answers to while an
// account has the public key: a web page could sign with it. Nil is any name:
// other keys are secret, and an insecure listener is reached by any name.
func (o *Options) blobHosts(accounts []sign.Account) []string {
	beyond := auth.CheckBind(o.BlobListen, false, false, false) != nil
	if !slices.ContainsFunc(accounts, hasPublicKey) || o.Insecure && beyond {
		return nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1", "host.docker.internal"}
	if host, _, err := net.SplitHostPort(o.BlobListen); err == nil && host != "" {
		hosts = append(hosts, host) // the printed address must work
	}
	return append(hosts, o.Hosts...)
}

// hasPublicKey reports whether a key of the account is the development account's,
// which everybody knows.
func hasPublicKey(a sign.Account) bool {
	public := sign.Development().Keys[0]
	return slices.ContainsFunc(a.Keys, func(key []byte) bool { return bytes.Equal(key, public) })
}

// connectionString points SDKs and tools at the account. It shows no key but the
// public one.
func connectionString(a sign.Account, url string) string {
	key := "<key>"
	if hasPublicKey(a) {
		key = base64.StdEncoding.EncodeToString(sign.Development().Keys[0])
	}
	scheme, _, _ := strings.Cut(url, ":")
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s/%s;", scheme, a.Name, key, url, a.Name)
}
