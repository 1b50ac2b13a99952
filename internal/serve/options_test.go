//go:build unix

package serve

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A server that cannot start says which flag is wrong, and leaves no directory.
func TestStartRefuses(t *testing.T) {
	dir := t.TempDir()
	public, broken, empty := filepath.Join(dir, "public"), filepath.Join(dir, "broken"), filepath.Join(dir, "empty")
	for file, text := range map[string]string{public: "a:b\n", broken: "# keys\n\nnonsense\n", empty: ""} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(public, 0o644); err != nil {
		t.Fatal(err)
	}
	inUse, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inUse.Close()
	for _, tt := range []struct {
		name   string
		change func(*Options)
		kind   error
		text   string
	}{
		{"half a key pair", func(o *Options) { o.TLS.CertFile = "x" }, ErrOptions, "--tls-key"},
		{"a key pair that is not there", func(o *Options) { o.TLS.CertFile, o.TLS.KeyFile = "x", "y" }, ErrOptions, "x"},
		{"client certificates without TLS", func(o *Options) { o.TLS.ClientCAFile = "x" }, ErrOptions, "--client-ca"},
		{"durability", func(o *Options) { o.Durability = "some" }, ErrOptions, "--durability"},
		{"reserve", func(o *Options) { o.Reserve = -1 }, ErrOptions, "--reserve"},
		{"connections", func(o *Options) { o.MaxConnections = 0 }, ErrOptions, "--max-connections"},
		{"a server as the store", func(o *Options) { o.Store = "http://127.0.0.1:1" }, ErrOptions, "--store"},
		{"a store that finds nothing by id", func(o *Options) { o.Store = "azblob://account/leases" }, ErrOptions, "cannot find a lease by its id"},
		{"the name of the health check", func(o *Options) { o.Health.Name = "a\x00" }, ErrOptions, "--health-name"},
		{"its ttl", func(o *Options) { o.Health.TTL = time.Microsecond }, ErrOptions, "--health-ttl"},
		{"its timeout", func(o *Options) { o.Health.Timeout = -1 }, ErrOptions, "--health-timeout"},
		{"client certificates without tokens", func(o *Options) {
			o.TLS.CertFile, o.TLS.KeyFile, o.TLS.ClientCAFile = "x", "y", "z"
		}, ErrOptions, "--token-file"},
		{"an open listener", func(o *Options) { o.Listen = "0.0.0.0:0" }, ErrOptions, "--token-file"},
		{"an open blob listener", func(o *Options) { o.BlobListen = "0.0.0.0:0" }, ErrOptions, "--blob-accounts"},
		{"snapshots", func(o *Options) { o.BlobSnapshotTTL = -time.Second }, ErrOptions, "--blob-snapshot-ttl"},
		{"an address in use", func(o *Options) { o.BlobListen = inUse.Addr().String() }, ErrListen, "--blob-listen"},
		{"a token file that is not there", func(o *Options) { o.TokenFile = filepath.Join(dir, "none") }, os.ErrNotExist, "leasehold token new"},
		{"no token file", func(o *Options) { o.TokenFile = public }, ErrOptions, "public"},
		{"accounts that are not there", func(o *Options) { o.BlobAccounts = filepath.Join(dir, "none") }, os.ErrNotExist, "storage accounts"},
		{"broken accounts", func(o *Options) { o.BlobAccounts = broken }, ErrOptions, "line 3"},
		{"no accounts", func(o *Options) { o.BlobAccounts = empty }, ErrOptions, "no account"},
	} {
		o := Defaults()
		o.Listen, o.Data = "127.0.0.1:0", filepath.Join(dir, "data")
		tt.change(&o)
		s, err := Start(t.Context(), o)
		if s != nil || !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: Start = %v, %v, want %v with %q in it", tt.name, s, err, tt.kind, tt.text)
		}
		if _, err := os.Stat(o.Data); err == nil {
			t.Fatalf("%s: there is a data directory", tt.name)
		}
	}
}

// An insecure server answers to the address that it was given.
// What clients break is no error of the server; a panic is.
func TestLogOfHTTP(t *testing.T) {
	var out strings.Builder
	log := &httpLog{slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, line := range []string{"http: TLS handshake error\n", "http: panic serving\n"} {
		if n, err := log.Write([]byte(line)); n != len(line) || err != nil {
			t.Errorf("Write(%q) = %d, %v", line, n, err)
		}
	}
	if got := out.String(); !strings.Contains(got, `level=DEBUG msg="http: TLS handshake error"`) || !strings.Contains(got, `level=ERROR msg="http: panic serving"`) {
		t.Errorf("the log is %s", got)
	}
}

func TestAllHosts(t *testing.T) {
	for listen, want := range map[string][]string{
		"192.0.2.7:8105": {"192.0.2.7", "other"}, "[2001:db8::1]:8105": {"[2001:db8::1]", "other"}, ":8105": {"other"},
	} {
		o := Options{Listen: listen, Insecure: true, Hosts: []string{"other"}}
		if got := o.allHosts(); !slices.Equal(got, want) {
			t.Errorf("allHosts() on %s = %q, want %q", listen, got, want)
		}
	}
}
