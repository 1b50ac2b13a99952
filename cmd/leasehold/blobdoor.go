package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/leasehold/leasehold/azure/sign"
	"github.com/leasehold/leasehold/server/auth"
	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"
)

const (
	defaultBlobListen = "127.0.0.1:10000"
	blobOff           = "off"
)

// blobFlags steer the Azure Blob door.
type blobFlags struct {
	listen      string
	accounts    string
	snapshotTTL time.Duration
}

func (f *blobFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "blob-listen", "", "address of the Azure Blob door, or off (default "+defaultBlobListen+", or a free port if --listen has port 0)")
	flags.StringVar(&f.accounts, "blob-accounts", "", "file of storage accounts, one a line: name:key or name:key:key (default: the development account, or none with --token-file)")
	flags.DurationVar(&f.snapshotTTL, "blob-snapshot-ttl", 0, "how long a new snapshot of a blob stays (default for ever)")
}

// settle fills in the default address: where the JSON door takes any free port,
// so does this one.
func (f *blobFlags) settle(listen string) {
	if f.listen != "" {
		return
	}
	f.listen = defaultBlobListen
	if _, port, err := net.SplitHostPort(listen); err == nil && port == "0" {
		f.listen = "127.0.0.1:0"
	}
}

func (f blobFlags) off() bool { return f.listen == blobOff }

// validate refuses to show the world an account whose key everybody knows.
func (f blobFlags) validate(secure, insecure bool) error {
	if f.off() {
		return nil
	}
	if f.snapshotTTL < 0 {
		return usagef("--blob-snapshot-ttl is %v; want a time from now, or 0 for ever", f.snapshotTTL)
	}
	if err := auth.CheckBind(f.listen, f.accounts != "", secure, insecure); err != nil {
		return usagef("%s", strings.Replace(err.Error(), "--token-file", "--blob-accounts", 1))
	}
	return nil
}

// readAccounts reads the accounts that may sign.
func (f blobFlags) readAccounts() ([]sign.Account, error) {
	if f.accounts == "" {
		return []sign.Account{sign.Development()}, nil
	}
	file, err := os.Open(f.accounts)
	if err != nil {
		return nil, fmt.Errorf("storage accounts: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("storage accounts: %w", err)
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, usagef("%s holds keys and can be read by others than its owner; chmod 600 it", f.accounts)
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
			return nil, usagef("%s, line %d: %v; want name:key, the key in base64", f.accounts, n, err)
		}
		accounts = append(accounts, account)
	}
	switch {
	case lines.Err() != nil:
		return nil, fmt.Errorf("storage accounts: %w", lines.Err())
	case len(accounts) == 0:
		return nil, usagef("%s has no account; want lines of name:key", f.accounts)
	}
	return accounts, nil
}

// blobClosed is why Azure's listener serves no account, or "". A server with
// tokens lets nobody in by a key that everybody knows, unless that account is
// asked for by name.
func (f serveFlags) blobClosed() string {
	if f.tokenFile == "" || f.blob.accounts != "" {
		return ""
	}
	return "This server has tokens and was started without storage accounts. --blob-accounts FILE names them, the development account too if it is wanted."
}

// blobHosts are the names that the listener answers to while it has the account
// whose key everybody knows: a web page could sign with it. Nobody knows the keys
// of other accounts, and an insecure listener is reached by any name.
func (f serveFlags) blobHosts(accounts []sign.Account) []string {
	beyond := auth.CheckBind(f.blob.listen, false, false, false) != nil
	if !slices.ContainsFunc(accounts, isPublished) || f.insecure && beyond {
		return nil
	}
	hosts := []string{"localhost", "127.0.0.1", "::1", "host.docker.internal"}
	if host, _, err := net.SplitHostPort(f.blob.listen); err == nil && host != "" {
		hosts = append(hosts, host) // the printed address must work
	}
	return append(hosts, f.hosts...)
}

// isPublished reports whether everybody knows a key of the account.
func isPublished(a sign.Account) bool {
	published := sign.Development().Keys[0]
	return slices.ContainsFunc(a.Keys, func(key []byte) bool { return bytes.Equal(key, published) })
}

// addBlobs builds the Azure Blob door.
func (h *house) addBlobs(f serveFlags, p porch, l net.Listener, url string) {
	d := &door{
		name: "Blob API", key: "azure_blob", url: url, note: connectionString(h.rooms.accounts[0], url),
		listener: netutil.LimitListener(l, f.connections),
		server:   newServer(h.rooms.blobs.Handler(), p.tls.Clone(), f.timeouts, h.log),
	}
	if why := f.blobClosed(); why != "" {
		d.note = ""
		h.log.Warn("the Blob API serves no account", "why", why)
	}
	h.doors = append(h.doors, d)
}

// connectionString is what SDKs and tools are pointed here with. Only the key
// that everybody knows is printed.
func connectionString(a sign.Account, url string) string {
	key := "<key>"
	if isPublished(a) {
		key = base64.StdEncoding.EncodeToString(sign.Development().Keys[0])
	}
	scheme, _, _ := strings.Cut(url, ":")
	return fmt.Sprintf("DefaultEndpointsProtocol=%s;AccountName=%s;AccountKey=%s;BlobEndpoint=%s/%s;", scheme, a.Name, key, url, a.Name)
}

// withBlobs shows the dialect's paths to the blobs, and all others to next.
func withBlobs(next, dialect http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.EscapedPath(), auth.BlobPath) {
			dialect.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
